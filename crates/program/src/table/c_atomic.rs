//! The atomic operations of C11 7.17 with orders and, behind them, scopes as OpenCL and CUDA have them.

use fencepost_syntax::c::Expression;
use fencepost_syntax::suggest::nearest;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::expression::BinaryOperator;
use crate::lower::{Context, Refusal};
use crate::program::{FailedCas, FenceCover, LocalValue, Operand, Operation, Scope, Update};
use crate::table::c::{Pointee, evaluate, load, local, pointee, store};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

/// What an operation of the library does, by the name without `atomic_` and `_explicit`.
#[derive(Copy, Clone)]
enum Function {
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
enum Strength {
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
enum Order {
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
    fn of_read(self) -> Option<Tag> {
        match self {
            Order::Relaxed => Some(Tag::Relaxed),
            Order::Acquire => Some(Tag::Acquire),
            Order::SequentiallyConsistent => Some(Tag::Sc),
            Order::Release | Order::AcquireRelease => None,
        }
    }

    fn of_write(self) -> Option<Tag> {
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

pub(super) fn call(
    context: &mut Context<'_>,
    function: &Spanned<String>,
    arguments: &[Spanned<Expression>],
) -> Result<Operand, Refusal> {
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
    let operation =
        Call { function, values, order, order_span: settings.first().map_or(function.span, |o| o.span), scope };
    operation.lower(context, *kind, settings)
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

struct Call<'c> {
    function: &'c Spanned<String>,
    values: &'c [Spanned<Expression>],
    order: Order,
    order_span: Span,
    scope: Scope,
}

impl Call<'_> {
    fn lower(
        &self,
        context: &mut Context<'_>,
        kind: Function,
        settings: &[Spanned<Expression>],
    ) -> Result<Operand, Refusal> {
        let nothing = Operand::Constant(Value(0));
        let scope = Some(self.scope);
        let [first, rest @ ..] = self.values else {
            self.fence(context);
            return Ok(nothing);
        };
        let place = pointee(context, first)?;
        let ty = place.ty;
        match (kind, rest) {
            (Function::Load, _) => {
                let tag = self.order.of_read().ok_or_else(|| self.bad_order("a load"))?;
                Ok(load(context, place, tag, scope))
            }
            (Function::Store, [value]) => {
                let tag = self.order.of_write().ok_or_else(|| self.bad_order("a store"))?;
                let value = place.converted(context, value)?;
                store(context, place, value, tag, scope);
                Ok(nothing)
            }
            (Function::Init, [value]) => {
                let value = place.converted(context, value)?;
                store(context, place, value, Tag::NonAtomic, None);
                Ok(nothing)
            }
            (Function::Exchange, [value]) => {
                let value = place.converted(context, value)?;
                Ok(self.modify(context, place, Update::Exchange(value)))
            }
            (Function::Fetch(_), _) if place.is_bool => {
                Err(Refusal::error(self.function.span, "a `bool` has no such operation (C11 7.17.7.5)"))
            }
            (Function::Fetch(operator), [value]) => {
                let value = evaluate(context, value, ty)?;
                Ok(self.modify(context, place, Update::Apply(operator, value)))
            }
            (Function::CompareExchange(strength), [expected, new]) => {
                let failing = self.failing_order(settings.get(1))?;
                self.compare(context, place, (expected, new), (strength, failing))
            }
            _ => Err(Refusal::error(self.function.span, "the arguments do not fit the function")),
        }
    }

    fn bad_order(&self, what: &str) -> Refusal {
        Refusal::error(self.order_span, format!("{what} cannot have this memory order (C11 7.17.7)"))
    }

    fn fence(&self, context: &mut Context<'_>) {
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

    fn modify(&self, context: &mut Context<'_>, place: Pointee, update: Update) -> Operand {
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
    fn failing_order(&self, argument: Option<&Spanned<Expression>>) -> Result<Tag, Refusal> {
        let Some(argument) = argument else { return Ok(self.order.halves().0) };
        setting(argument, ORDERS, "a memory order")?.of_read().ok_or_else(|| {
            Refusal::error(argument.span, "a failing exchange cannot have this memory order (C11 7.17.7.4)")
        })
    }

    /// Gives 1 on success; else the variable of what was expected gets what was found.
    fn compare(
        &self,
        context: &mut Context<'_>,
        place: Pointee,
        (expected, new): (&Spanned<Expression>, &Spanned<Expression>),
        (strength, failing): (Strength, Tag),
    ) -> Result<Operand, Refusal> {
        let variable = match &expected.node {
            Expression::AddressOf(inner) => match &inner.node {
                Expression::Name(name) => context.thread.find(name),
                _ => None,
            },
            _ => None,
        };
        let Some(variable) = variable else {
            let help = "declare `int e = 0;` and pass `&e`";
            return Err(Refusal::Error(
                Diagnostic::error(expected.span, "this is not the address of a variable").help(help),
            ));
        };
        let ty = place.ty;
        let new = place.converted(context, new)?;
        let wanted = local(context, ty, LocalValue::Operand(Operand::Register(variable)));
        let failed = (strength == Strength::Weak).then(|| context.thread.temporary(Type::S32));
        let tags = Tags::from_iter([Tag::Read, Tag::Atomic, failing]);
        let on_failure = FailedCas::Ordered { tags, failed };
        let old = self.modify(context, place, Update::CompareAndSwap { expected: wanted, new, on_failure });
        let equal = local(context, Type::S32, LocalValue::Binary(BinaryOperator::Equal, old, wanted));
        let success = match failed.map(Operand::Register) {
            Some(condition) => {
                let then = Operand::Constant(Value(0));
                local(context, Type::S32, LocalValue::Select { condition, then, otherwise: equal })
            }
            None => equal,
        };
        context.thread.emit(Operation::Local { destination: variable, ty, value: LocalValue::Operand(old) });
        Ok(success)
    }
}
