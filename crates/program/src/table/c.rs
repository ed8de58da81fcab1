//! What C statements do: the atomic operations of C11 7.17 with orders and, behind them, scopes as OpenCL has them, and
//! plain accesses, which are not atomic unless their type is.
//!
//! Values are computed in the type of the variable they go to; variables are registers, pointers are names of locations.

use fencepost_syntax::c::{Binary, Expression, Statement, Unary};
use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::lower::{Context, Refusal};
use crate::program::{AddressOperand, CodeIndex, FailedCas, FenceCover, LocalValue, Operand, Operation, Scope, Update};
use crate::tag::{Tag, Tags};
use crate::value::{Type, Value};

/// What an operation of the library does, by the name without `atomic_` and `_explicit`.
#[derive(Copy, Clone)]
enum Function {
    Load,
    Store,
    Exchange,
    Fetch(BinaryOperator),
    CompareExchange,
    Fence,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("load", Function::Load),
    ("store", Function::Store),
    ("exchange", Function::Exchange),
    ("fetch_add", Function::Fetch(BinaryOperator::Add)),
    ("fetch_sub", Function::Fetch(BinaryOperator::Subtract)),
    ("fetch_and", Function::Fetch(BinaryOperator::And)),
    ("fetch_or", Function::Fetch(BinaryOperator::Or)),
    ("fetch_xor", Function::Fetch(BinaryOperator::Xor)),
    ("fetch_min", Function::Fetch(BinaryOperator::Minimum)),
    ("fetch_max", Function::Fetch(BinaryOperator::Maximum)),
    ("compare_exchange_strong", Function::CompareExchange),
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

/// The type of a variable or a location; `atomic_int` is an `int` that is accessed atomically.
pub(crate) fn ty(name: &str) -> Type {
    match name.strip_prefix("atomic_").unwrap_or(name) {
        "unsigned" | "uint" | "uint32_t" => Type::U32,
        "long" | "int64_t" => Type::S64,
        "ulong" | "uint64_t" => Type::U64,
        _ => Type::S32,
    }
}

pub(crate) fn lower(context: &mut Context<'_>, statement: &Spanned<Statement>) -> Result<(), Refusal> {
    context.thread.at(statement.span);
    match &statement.node {
        Statement::Declare { ty: name, name: variable, value } => {
            if context.names.get(&variable.node).is_some() {
                let message = format!("`{}` is a location already", variable.node);
                return Err(Refusal::error(variable.span, message));
            }
            let destination = context.thread.register(&variable.node, ty(&name.node));
            match value {
                Some(value) => assign(context, destination, value),
                None => Ok(()),
            }
        }
        Statement::Assign { target, value } => assignment(context, target, value),
        Statement::Call(call) => evaluate(context, call, Type::S32).map(|_| ()),
        Statement::If { condition, then, otherwise } => {
            let (past, end) = (context.thread.fresh_label(), context.thread.fresh_label());
            leave_unless(context, condition, &past)?;
            block(context, then)?;
            if !otherwise.is_empty() {
                jump(context, &end, statement.span);
            }
            context.place(&past, statement.span);
            block(context, otherwise)?;
            context.place(&end, statement.span);
            Ok(())
        }
        Statement::While { condition, body } => {
            let (start, end) = (context.thread.fresh_label(), context.thread.fresh_label());
            // Tested at the end: what an iteration computes is then dead where the next begins, and a loop that only waits
            // is seen to be one.
            leave_unless(context, condition, &end)?;
            context.place(&start, statement.span);
            block(context, body)?;
            let value = evaluate(context, condition, Type::S32)?;
            branch(context, Comparison::NotEqual, value, &start, condition.span);
            context.place(&end, statement.span);
            Ok(())
        }
        Statement::DoWhile { body, condition } => {
            let start = context.thread.fresh_label();
            context.place(&start, statement.span);
            block(context, body)?;
            let value = evaluate(context, condition, Type::S32)?;
            branch(context, Comparison::NotEqual, value, &start, condition.span);
            Ok(())
        }
    }
}

fn block(context: &mut Context<'_>, body: &[Spanned<Statement>]) -> Result<(), Refusal> {
    body.iter().try_for_each(|statement| lower(context, statement))
}

fn jump(context: &mut Context<'_>, label: &str, span: Span) {
    context.thread.emit_jump(Operation::Branch { target: CodeIndex(0) }, Spanned::new(label.to_owned(), span));
}

/// Jumps if the value compares so with zero.
fn branch(context: &mut Context<'_>, comparison: Comparison, value: Operand, label: &str, span: Span) {
    let right = Operand::Constant(Value(0));
    let operation = Operation::BranchIf { comparison, ty: Type::S64, left: value, right, target: CodeIndex(0) };
    context.thread.emit_jump(operation, Spanned::new(label.to_owned(), span));
}

fn leave_unless(context: &mut Context<'_>, condition: &Spanned<Expression>, label: &str) -> Result<(), Refusal> {
    let value = evaluate(context, condition, Type::S32)?;
    branch(context, Comparison::Equal, value, label, condition.span);
    Ok(())
}

fn assign(
    context: &mut Context<'_>,
    destination: crate::ids::RegisterId,
    value: &Spanned<Expression>,
) -> Result<(), Refusal> {
    let ty = context.thread.register_type(destination);
    let value = evaluate(context, value, ty)?;
    context.thread.emit(Operation::Local { destination, ty, value: LocalValue::Operand(value) });
    Ok(())
}

fn assignment(
    context: &mut Context<'_>,
    target: &Spanned<Expression>,
    value: &Spanned<Expression>,
) -> Result<(), Refusal> {
    match &target.node {
        Expression::Name(name) => match context.thread.find(name) {
            Some(register) => assign(context, register, value),
            None if context.names.get(name).is_some() => {
                let message = format!("`{name}` is a pointer to a location");
                let help = format!("write `*{name} = …`, or use atomic_store");
                Err(Refusal::Error(Diagnostic::error(target.span, message).help(help)))
            }
            None => {
                let message = format!("`{name}` is not declared");
                let help = format!("write `int {name} = …;`");
                Err(Refusal::Error(Diagnostic::error(target.span, message).help(help)))
            }
        },
        Expression::Dereference(pointer) => {
            let place = pointee(context, pointer)?;
            let value = evaluate(context, value, place.ty)?;
            let (tag, scope) = place.plain();
            store(context, place, value, tag, scope);
            Ok(())
        }
        _ => Err(Refusal::error(target.span, "this cannot be assigned to")),
    }
}

/// What a pointer points to.
struct Pointee {
    address: AddressOperand,
    ty: Type,
    is_atomic: bool,
}

impl Pointee {
    /// A plain access of an atomic object is one of the strongest order (C11 6.2.6.1, 6.5.16).
    fn plain(&self) -> (Tag, Option<Scope>) {
        if self.is_atomic { (Tag::Sc, Some(Scope::Sys)) } else { (Tag::NonAtomic, None) }
    }
}

fn pointee(context: &mut Context<'_>, pointer: &Spanned<Expression>) -> Result<Pointee, Refusal> {
    let Expression::Name(name) = &pointer.node else {
        return Err(Refusal::Unsupported(pointer.span, "a pointer that is computed".to_owned()));
    };
    if context.thread.find(name).is_some() {
        return Err(Refusal::Unsupported(pointer.span, "a pointer in a variable".to_owned()));
    }
    if context.thread.parameter(name).is_none() && context.names.get(name).is_none() {
        let message = format!("`{name}` is no parameter of {} and no declared location", context.thread.name());
        let help = format!("add `atomic_int* {name}` to the parameters");
        return Err(Refusal::Error(Diagnostic::error(pointer.span, message).help(help)));
    }
    let viewer = context.thread.viewer();
    let address = context.names.address(name, 0, viewer, pointer.span)?;
    let (ty, is_atomic) = match context.thread.parameter(name) {
        Some(declared) => (ty(declared), declared.starts_with("atomic_")),
        None => (context.names.declared_type(address).unwrap_or(Type::S32), false),
    };
    Ok(Pointee { address: AddressOperand::Static(address), ty, is_atomic })
}

fn load(context: &mut Context<'_>, place: Pointee, tag: Tag, scope: Option<Scope>) -> Operand {
    let Pointee { address, ty, .. } = place;
    let destination = context.thread.temporary(ty);
    let tags = Tags::from_iter([Tag::Read, tag]);
    context.thread.emit(Operation::Load { destination: Some(destination), address, ty, tags, scope, assume: None });
    Operand::Register(destination)
}

fn store(context: &mut Context<'_>, place: Pointee, value: Operand, tag: Tag, scope: Option<Scope>) {
    let Pointee { address, ty, .. } = place;
    let tags = Tags::from_iter([Tag::Write, tag]);
    context.thread.emit(Operation::Store { address, value, ty, tags, scope });
}

fn local(context: &mut Context<'_>, ty: Type, value: LocalValue) -> Operand {
    let destination = context.thread.temporary(ty);
    context.thread.emit(Operation::Local { destination, ty, value });
    Operand::Register(destination)
}

/// The value of an expression, computed in a type.
fn evaluate(context: &mut Context<'_>, item: &Spanned<Expression>, ty: Type) -> Result<Operand, Refusal> {
    match &item.node {
        Expression::Integer(value) => Ok(Operand::Constant(ty.wrap(Value(*value)))),
        Expression::Name(name) => match context.thread.find(name) {
            Some(register) => Ok(Operand::Register(register)),
            None if context.names.get(name).is_some() => {
                let message = format!("`{name}` is a pointer to a location, not a value");
                let help = format!("write `*{name}`, or use atomic_load");
                Err(Refusal::Error(Diagnostic::error(item.span, message).help(help)))
            }
            None => Err(Refusal::error(item.span, format!("`{name}` is not declared"))),
        },
        Expression::Dereference(pointer) => {
            let place = pointee(context, pointer)?;
            let (tag, scope) = place.plain();
            Ok(load(context, place, tag, scope))
        }
        Expression::AddressOf(_) => Err(Refusal::error(item.span, "an address stands only where a function wants it")),
        Expression::Unary(operator, inner) => {
            let inner = evaluate(context, inner, ty)?;
            let value = match operator {
                Unary::IsZero => LocalValue::Binary(BinaryOperator::Equal, inner, Operand::Constant(Value(0))),
                Unary::Negate => LocalValue::Unary(UnaryOperator::Negate, inner),
                Unary::Not => LocalValue::Unary(UnaryOperator::Not, inner),
            };
            Ok(local(context, ty, value))
        }
        Expression::Binary(operator @ (Binary::And | Binary::Or), left, right) => {
            short_circuit(context, *operator, left, right)
        }
        Expression::Binary(operator, left, right) => {
            // Comparisons are made in the common type of their sides, whatever their result goes to (C11 6.5.8, 6.5.9).
            let ty = if is_comparison(*operator) {
                common(natural(context, &left.node), natural(context, &right.node))
            } else {
                ty
            };
            let (left, right) = (evaluate(context, left, ty)?, evaluate(context, right, ty)?);
            Ok(local(context, ty, LocalValue::Binary(arithmetic(*operator), left, right)))
        }
        Expression::Call { function, arguments } => call(context, function, arguments),
    }
}

fn is_comparison(operator: Binary) -> bool {
    use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(operator, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

/// The usual arithmetic conversions (C11 6.3.1.8): the wider type, and of two equally wide ones the unsigned.
fn common(left: Type, right: Type) -> Type {
    match left.bits.cmp(&right.bits) {
        std::cmp::Ordering::Less => right,
        std::cmp::Ordering::Greater => left,
        std::cmp::Ordering::Equal => Type { signed: left.signed && right.signed, ..left },
    }
}

/// The type an expression has by itself.
fn natural(context: &Context<'_>, item: &Expression) -> Type {
    match item {
        Expression::Integer(value) if Type::S32.fits(Value(*value)) => Type::S32,
        Expression::Integer(_) => Type::S64,
        Expression::Name(name) => match (context.thread.find(name), context.thread.parameter(name)) {
            (Some(register), _) => context.thread.register_type(register),
            (None, Some(declared)) => ty(declared),
            (None, None) => Type::S32,
        },
        Expression::Dereference(inner) | Expression::AddressOf(inner) | Expression::Unary(_, inner) => {
            natural(context, &inner.node)
        }
        Expression::Binary(operator, ..) if is_comparison(*operator) => Type::S32,
        Expression::Binary(Binary::And | Binary::Or, ..) => Type::S32,
        Expression::Binary(_, left, right) => common(natural(context, &left.node), natural(context, &right.node)),
        // An exchange that compares gives 0 or 1, which every type holds.
        Expression::Call { arguments, .. } => {
            arguments.first().map_or(Type::S32, |pointer| natural(context, &pointer.node))
        }
    }
}

fn arithmetic(operator: Binary) -> BinaryOperator {
    match operator {
        Binary::BitOr | Binary::Or => BinaryOperator::Or,
        Binary::BitAnd | Binary::And => BinaryOperator::And,
        Binary::Equal => BinaryOperator::Equal,
        Binary::NotEqual => BinaryOperator::NotEqual,
        Binary::Less => BinaryOperator::Less,
        Binary::LessEqual => BinaryOperator::LessEqual,
        Binary::Greater => BinaryOperator::Greater,
        Binary::GreaterEqual => BinaryOperator::GreaterEqual,
        Binary::Add => BinaryOperator::Add,
        Binary::Subtract => BinaryOperator::Subtract,
        Binary::Multiply => BinaryOperator::Multiply,
    }
}

/// The right side is evaluated only if the left does not decide (C11 6.5.13).
fn short_circuit(
    context: &mut Context<'_>,
    operator: Binary,
    left: &Spanned<Expression>,
    right: &Spanned<Expression>,
) -> Result<Operand, Refusal> {
    let ty = Type::S32;
    let result = context.thread.temporary(ty);
    let settle = |context: &mut Context<'_>, value: Operand| {
        let value = LocalValue::Binary(BinaryOperator::NotEqual, value, Operand::Constant(Value(0)));
        context.thread.emit(Operation::Local { destination: result, ty, value });
    };
    let first = evaluate(context, left, ty)?;
    settle(context, first);
    let end = context.thread.fresh_label();
    let decided = if operator == Binary::And { Comparison::Equal } else { Comparison::NotEqual };
    branch(context, decided, Operand::Register(result), &end, left.span);
    let second = evaluate(context, right, ty)?;
    settle(context, second);
    context.place(&end, right.span);
    Ok(Operand::Register(result))
}

fn call(
    context: &mut Context<'_>,
    function: &Spanned<String>,
    arguments: &[Spanned<Expression>],
) -> Result<Operand, Refusal> {
    let name = function.node.strip_prefix("atomic_").unwrap_or("");
    let (name, is_explicit) = match name.strip_suffix("_explicit") {
        Some(name) => (name, true),
        None => (name, name == "thread_fence"),
    };
    let Some((_, kind)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        return Err(Refusal::Unsupported(function.span, format!("the function `{}`", function.node)));
    };
    let values = match kind {
        Function::Fence => 0,
        Function::Load => 1,
        Function::Store | Function::Exchange | Function::Fetch(_) => 2,
        Function::CompareExchange => 3,
    };
    let orders = match (is_explicit, kind) {
        (false, _) => 0,
        (true, Function::CompareExchange) => 2,
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

/// A constant of the library.
fn setting<T: Copy>(argument: &Spanned<Expression>, table: &[(&str, T)], what: &str) -> Result<T, Refusal> {
    let name = match &argument.node {
        Expression::Name(name) => name.as_str(),
        _ => "",
    };
    let short = name.rsplit("::").next().unwrap_or(name);
    table.iter().find(|(known, _)| *known == short).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
        Refusal::Error(Diagnostic::error(argument.span, format!("this is not {what}")).help(known.join(", ")))
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
                let value = evaluate(context, value, ty)?;
                store(context, place, value, tag, scope);
                Ok(nothing)
            }
            (Function::Exchange, [value]) => {
                let value = evaluate(context, value, ty)?;
                Ok(self.modify(context, place, Update::Exchange(value)))
            }
            (Function::Fetch(operator), [value]) => {
                let value = evaluate(context, value, ty)?;
                Ok(self.modify(context, place, Update::Apply(operator, value)))
            }
            (Function::CompareExchange, [expected, new]) => self.compare(context, place, expected, new, settings),
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

    /// Gives 1 on success; else the variable of what was expected gets what was found. A failing one has the order of the
    /// success here; one that asks for less is refused.
    fn compare(
        &self,
        context: &mut Context<'_>,
        place: Pointee,
        expected: &Spanned<Expression>,
        new: &Spanned<Expression>,
        settings: &[Spanned<Expression>],
    ) -> Result<Operand, Refusal> {
        if let Some(argument) = settings.get(1) {
            let failing = setting(argument, ORDERS, "a memory order")?;
            let Some(tag) = failing.of_read() else {
                return Err(Refusal::error(
                    argument.span,
                    "a failing exchange cannot have this memory order (C11 7.17.7.4)",
                ));
            };
            if tag != self.order.halves().0 {
                let what = "a compare-and-exchange whose failure has another order than its read".to_owned();
                return Err(Refusal::Unsupported(argument.span, what));
            }
        }
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
        let new = evaluate(context, new, ty)?;
        let wanted = local(context, ty, LocalValue::Operand(Operand::Register(variable)));
        let update = Update::CompareAndSwap { expected: wanted, new, on_failure: FailedCas::NoWrite };
        let old = self.modify(context, place, update);
        let success = local(context, Type::S32, LocalValue::Binary(BinaryOperator::Equal, old, wanted));
        context.thread.emit(Operation::Local { destination: variable, ty, value: LocalValue::Operand(old) });
        Ok(success)
    }
}
