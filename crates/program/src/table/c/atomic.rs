//! The atomic operations of C11 7.17 with orders and, behind them, scopes as OpenCL and CUDA have them.

use fencepost_syntax::c::Expression;
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::context::Context;
use crate::lower::findings::Refusal;
use crate::program::{FenceCover, Operand, Operation, Scope, Update};
use crate::table::c::place::Pointee;
use crate::tag::{Tag, Tags};
use crate::value::expression::BinaryOperator;

/// What an operation of the library does, by the name without `atomic_` and `_explicit`.
#[derive(Copy, Clone)]
pub(crate) enum Function {
    Load,
    Store,
    /// `atomic_init`: a write that is no atomic operation (C11 7.17.2.2).
    Init,
    Exchange,
    Fetch(BinaryOperator),
    CompareExchange(Strength),
    Fence,
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Strength {
    Strong,
    /// May fail though the values are equal (C11 7.17.7.4).
    Weak,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("load", Function::Load),
    ("store", Function::Store),
    ("init", Function::Init),
    ("exchange", Function::Exchange),
    ("fetch_add", Function::Fetch(BinaryOperator::Add)),
    ("fetch_sub", Function::Fetch(BinaryOperator::Subtract)),
    ("fetch_and", Function::Fetch(BinaryOperator::And)),
    ("fetch_or", Function::Fetch(BinaryOperator::Or)),
    ("fetch_xor", Function::Fetch(BinaryOperator::Xor)),
    ("fetch_min", Function::Fetch(BinaryOperator::Minimum)),
    ("fetch_max", Function::Fetch(BinaryOperator::Maximum)),
    ("compare_exchange_strong", Function::CompareExchange(Strength::Strong)),
    ("compare_exchange_weak", Function::CompareExchange(Strength::Weak)),
    ("thread_fence", Function::Fence),
];

#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

const ORDERS: &[(&str, Order)] = &[
    ("memory_order_relaxed", Order::Relaxed),
    // No compiler does less for consume than for acquire, and C++26 says so.
    ("memory_order_consume", Order::Acquire),
    ("memory_order_acquire", Order::Acquire),
    ("memory_order_release", Order::Release),
    ("memory_order_acq_rel", Order::AcquireRelease),
    ("memory_order_seq_cst", Order::SequentiallyConsistent),
];

/// OpenCL's names, CUDA's, and PTX's.
const SCOPES: &[(&str, Scope)] = &[
    ("memory_scope_work_group", Scope::Cta),
    ("memory_scope_device", Scope::Gpu),
    ("memory_scope_all_svm_devices", Scope::Sys),
    ("memory_scope_all_devices", Scope::Sys),
    ("thread_scope_block", Scope::Cta),
    ("thread_scope_cluster", Scope::Cluster),
    ("thread_scope_device", Scope::Gpu),
    ("thread_scope_system", Scope::Sys),
];

impl Order {
    pub(crate) fn of_read(self) -> Option<Tag> {
        match self {
            Order::Relaxed => Some(Tag::Relaxed),
            Order::Acquire => Some(Tag::Acquire),
            Order::SequentiallyConsistent => Some(Tag::Sc),
            Order::Release | Order::AcquireRelease => None,
        }
    }

    pub(crate) fn of_write(self) -> Option<Tag> {
        match self {
            Order::Relaxed => Some(Tag::Relaxed),
            Order::Release => Some(Tag::Release),
            Order::SequentiallyConsistent => Some(Tag::Sc),
            Order::Acquire | Order::AcquireRelease => None,
        }
    }

    /// The two halves of a read-modify-write.
    fn halves(self) -> (Tag, Tag) {
        match self {
            Order::Relaxed => (Tag::Relaxed, Tag::Relaxed),
            Order::Acquire => (Tag::Acquire, Tag::Relaxed),
            Order::Release => (Tag::Relaxed, Tag::Release),
            Order::AcquireRelease => (Tag::Acquire, Tag::Release),
            Order::SequentiallyConsistent => (Tag::Sc, Tag::Sc),
        }
    }
}

/// Something near has a name like it.
fn unknown_function(function: &Spanned<String>) -> Refusal {
    let written = function.node.as_str();
    let known = FUNCTIONS.iter().flat_map(|(name, kind)| {
        let explicit = (!matches!(kind, Function::Fence | Function::Init)).then(|| format!("atomic_{name}_explicit"));
        std::iter::once(format!("atomic_{name}")).chain(explicit)
    });
    let known: Vec<String> = known.collect();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    match nearest(written, &names) {
        Some(near) => {
            let message = format!("there is no function `{written}`");
            Refusal::Error(Diagnostic::error(function.span, message).help(format!("did you mean `{near}`?")))
        }
        None => Refusal::Unsupported(function.span, format!("the function `{written}`")),
    }
}

/// A constant of the library.
fn setting<T: Copy>(argument: &Spanned<Expression>, table: &[(&str, T)], what: &str) -> Result<T, Refusal> {
    let name = match &argument.node {
        Expression::Name(name) => name.as_str(),
        _ => "",
    };
    let short = name.rsplit("::").next().unwrap_or(name);
    table.iter().find(|(known, _)| *known == short).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
        let help = match nearest(short, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", known.join(", ")),
        };
        Refusal::Error(Diagnostic::error(argument.span, format!("this is not {what}")).help(help))
    })
}

/// A call of the library: what it asks for, its values not yet evaluated.
pub(crate) struct Call<'c> {
    pub(crate) function: &'c Spanned<String>,
    pub(crate) kind: Function,
    pub(crate) values: &'c [Spanned<Expression>],
    /// Orders and scope.
    settings: &'c [Spanned<Expression>],
    pub(crate) order: Order,
    order_span: Span,
    pub(crate) scope: Scope,
}

impl<'c> Call<'c> {
    pub(crate) fn read(
        function: &'c Spanned<String>,
        arguments: &'c [Spanned<Expression>],
    ) -> Result<Call<'c>, Refusal> {
        let name = function.node.strip_prefix("atomic_").unwrap_or("");
        let (name, is_explicit) = match name.strip_suffix("_explicit") {
            Some(name) => (name, true),
            None => (name, name == "thread_fence"),
        };
        let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
        let Some((_, kind)) = found.filter(|(_, kind)| !(is_explicit && matches!(kind, Function::Init))) else {
            return Err(unknown_function(function));
        };
        let values = match kind {
            Function::Fence => 0,
            Function::Load => 1,
            Function::Store | Function::Init | Function::Exchange | Function::Fetch(_) => 2,
            Function::CompareExchange(_) => 3,
        };
        let orders = match (is_explicit, kind) {
            (false, _) => 0,
            (true, Function::CompareExchange(_)) => 2,
            (true, _) => 1,
        };
        let (least, most) = (values + orders, values + orders + usize::from(is_explicit));
        if arguments.len() < least || arguments.len() > most {
            let wanted = if least == most { least.to_string() } else { format!("{least} or, with a scope, {most}") };
            let message = format!("`{}` takes {wanted} arguments, not {}", function.node, arguments.len());
            return Err(Refusal::error(function.span, message));
        }
        let (values, settings) = arguments.split_at(values);
        let scope = match settings.get(orders) {
            Some(argument) => setting(argument, SCOPES, "a scope")?,
            None => Scope::Sys,
        };
        let mut order = Order::SequentiallyConsistent;
        if let Some(argument) = settings.first().filter(|_| orders > 0) {
            order = setting(argument, ORDERS, "a memory order")?;
        }
        let order_span = settings.first().map_or(function.span, |order| order.span);
        Ok(Call { function, kind: *kind, values, settings, order, order_span, scope })
    }

    pub(crate) fn bad_order(&self, what: &str) -> Refusal {
        Refusal::error(self.order_span, format!("{what} cannot have this memory order (C11 7.17.7)"))
    }

    pub(crate) fn fence(&self, context: &mut Context<'_>) {
        let tag = match self.order {
            // A relaxed fence does nothing (C11 7.17.4.1).
            Order::Relaxed => return,
            Order::Acquire => Tag::Acquire,
            Order::Release => Tag::Release,
            Order::AcquireRelease => Tag::AcqRel,
            Order::SequentiallyConsistent => Tag::Sc,
        };
        let tags = Tags::from_iter([Tag::Fence, tag]);
        context.thread.emit(Operation::Fence { tags, scope: Some(self.scope), cover: FenceCover::EVERYTHING });
    }

    pub(crate) fn modify(&self, context: &mut Context<'_>, place: Pointee, update: Update) -> Operand {
        let Pointee { address, ty, .. } = place;
        let destination = context.thread.temporary(ty);
        let (read, write) = self.order.halves();
        context.thread.emit(Operation::ReadModifyWrite {
            destination: Some(destination),
            address,
            update,
            ty,
            read_tags: Tags::from_iter([Tag::Read, Tag::Atomic, read]),
            write_tags: Tags::from_iter([Tag::Write, Tag::Atomic, write]),
            scope: Some(self.scope),
            assume: None,
        });
        Operand::Register(destination)
    }

    /// The order of the read of a compare-and-exchange that fails.
    pub(crate) fn failing_order(&self) -> Result<Tag, Refusal> {
        let Some(argument) = self.settings.get(1) else { return Ok(self.order.halves().0) };
        setting(argument, ORDERS, "a memory order")?.of_read().ok_or_else(|| {
            Refusal::error(argument.span, "a failing exchange cannot have this memory order (C11 7.17.7.4)")
        })
    }
}
