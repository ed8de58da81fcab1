//! `with co from …`: which relations the right side denotes, without ever building them.
//!
//! herd's library writes "some total order of the writes of each location" as a program over sets of relations
//! (`linearisations`, `classes-loc`, a cross product by recursion), and herd runs that program on every candidate.
//! We run it on small *samples* instead: a few imaginary locations, each with a few opaque orders. cat's functions
//! cannot look inside an order, so what the program does with opaque orders is what it does with any. If on every
//! sample it yields exactly one union per choice of an order for each location, it denotes coherence orders, which the
//! engines know natively. Anything else is refused.

use fencepost_program::tag::Tag;
use fencepost_syntax::cat::{CheckKind, CheckRole, Expression};
use fencepost_syntax::sorted::SortedSet;
use fencepost_syntax::{Span, Spanned};

use crate::model::compile::layout::DraftCheck;
use crate::model::compile::value::{Environment, Evaluated, Value};
use crate::model::compile::{Compiler, Sample};
use crate::model::ir::{BaseRelation, BaseSet, Coherence, NodeId, Operator};

/// How many orders each imaginary location has.
const SAMPLES: &[&[u32]] = &[&[], &[1], &[2], &[2, 3], &[1, 2, 2], &[2, 1, 3, 2]];

impl Compiler<'_> {
    /// Binds the name to coherence if the expression denotes that.
    pub(crate) fn with_from(
        &mut self,
        name: &Spanned<String>,
        from: &Spanned<Expression>,
        environment: Environment,
    ) -> Evaluated<Environment> {
        if self.declared_coherence.is_some() {
            return self.refuse(name.span, "a second `with … from`");
        }
        let mut before = None;
        for sizes in SAMPLES {
            self.sample = Some(Sample { sizes, before: None });
            let value = self.evaluate(from, environment);
            let sample = self.sample.take();
            let produced = produced(value?);
            if produced != Some(expected(sizes)) {
                let what = "`with … from` over anything but the total orders of the writes of each location";
                return self.refuse(from.span, what);
            }
            before = sample.and_then(|sample| sample.before).or(before);
        }
        if let Some(before) = before {
            self.extends(before, from.span)?;
        }
        self.declared_coherence = Some(Coherence::Total);
        let co = self.base_relation(BaseRelation::Co, name.span);
        Ok(self.bindings.bind(environment, &name.node, Ok(Value::Relation(co))))
    }

    /// `classes-loc S`.
    pub(crate) fn classes(&mut self, argument: Value, span: Span) -> Evaluated<Value> {
        let Some(sample) = &self.sample else { return self.needs_sample(span) };
        let classes = (0..sample.sizes.len() as u32).map(Value::Class).collect();
        let node = self.as_set(argument, span, "`classes-loc` takes a set")?;
        if *self.graph.operator(node) != Operator::Base(BaseSet::Tagged(Tag::Write)) {
            return self.refuse(span, "`classes-loc` of a set other than `W`");
        }
        Ok(Value::Collection(classes))
    }

    /// `linearisations (S, r)`.
    pub(crate) fn linearisations(&mut self, argument: Value, span: Span) -> Evaluated<Value> {
        if self.sample.is_none() {
            return self.needs_sample(span);
        }
        let Value::Tuple(arguments) = argument else {
            return self.trouble(span, "`linearisations` takes a set and a relation", "wrong arguments");
        };
        let Ok([set, before]) = <[Value; 2]>::try_from(arguments) else {
            return self.trouble(span, "`linearisations` takes a set and a relation", "wrong arguments");
        };
        let Value::Class(class) = set else {
            return self.refuse(span, "`linearisations` of anything but the writes of one location");
        };
        let before = self.as_relation(before, span, "`linearisations` extends a relation")?;
        let Some(sample) = &mut self.sample else { return self.needs_sample(span) };
        if sample.before.is_some_and(|other| other != before) {
            return self.refuse(span, "extending different orders at different locations");
        }
        sample.before = Some(before);
        let size = sample.sizes.get(class as usize).copied().unwrap_or(0);
        let orders = (0..size).map(|order| Value::Orders(SortedSet::from([(class, order)])));
        Ok(Value::Collection(orders.collect()))
    }

    /// `element ++ collection`.
    pub(crate) fn insert(&self, element: Value, mut collection: Vec<Value>, span: Span) -> Evaluated<Vec<Value>> {
        match element {
            Value::Empty | Value::Class(_) | Value::Orders(_) | Value::Collection(_) if self.sample.is_some() => {
                if !collection.iter().any(|other| same(other, &element)) {
                    collection.insert(0, element);
                }
                Ok(collection)
            }
            Value::Empty | Value::Set(_) | Value::Relation(_) => self.needs_sample(span),
            other => self.refuse(span, &format!("a set of which {} is an element", other.type_name())),
        }
    }

    /// `|` over orders, or over sets of them.
    pub(crate) fn union_of_samples(&self, left: Value, right: Value, span: Span) -> Evaluated<Value> {
        match (left, right) {
            (Value::Orders(mut a), Value::Orders(b)) => {
                a.extend(b);
                Ok(Value::Orders(a))
            }
            (Value::Collection(a), Value::Collection(b)) => {
                let all = a.into_iter().try_fold(b, |all, element| self.insert(element, all, span))?;
                Ok(Value::Collection(all))
            }
            (left, right) => {
                let what = format!("`|` between {} and {}", left.type_name(), right.type_name());
                self.refuse(span, &what)
            }
        }
    }

    /// The generated orders extend `before`: an axiom, unless coherence does so anyway.
    fn extends(&mut self, before: NodeId, span: Span) -> Evaluated<()> {
        let place = self.place(span);
        let mut rest = self.graph.add(Operator::EmptyRelation, place);
        for part in self.parts(before) {
            if !self.is_implied(part) {
                rest = self.graph.add(Operator::Union(rest, part), place);
            }
        }
        if *self.graph.operator(rest) == Operator::EmptyRelation {
            return Ok(());
        }
        let writes = self.graph.add(Operator::Base(BaseSet::Tagged(Tag::Write)), place);
        let pairs = self.graph.add(Operator::Product(writes, writes), place);
        let location = self.base_relation(BaseRelation::Loc, span);
        let same = self.graph.add(Operator::Intersection(pairs, location), place);
        let within = self.graph.add(Operator::Intersection(rest, same), place);
        let co = self.base_relation(BaseRelation::Co, span);
        let node = self.graph.add(Operator::Difference(within, co), place);
        self.checks.push(DraftCheck {
            role: CheckRole::Axiom,
            negated: false,
            kind: CheckKind::Empty,
            node,
            name: Some("with co".to_owned()),
            place,
        });
        Ok(())
    }

    /// The terms of a union, with `loc &` distributed over them: each class has one location anyway.
    fn parts(&self, node: NodeId) -> Vec<NodeId> {
        let mut parts = Vec::new();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match *self.graph.operator(node) {
                Operator::Union(a, b) => open.extend([b, a]),
                Operator::Intersection(a, b) if self.is_location(a) => open.push(b),
                Operator::Intersection(a, b) if self.is_location(b) => open.push(a),
                _ => parts.push(node),
            }
        }
        parts
    }

    fn is_location(&self, node: NodeId) -> bool {
        *self.graph.operator(node) == Operator::BaseRelation(BaseRelation::Loc)
    }

    /// Initial writes come first, final writes last: true of every coherence order.
    fn is_implied(&self, node: NodeId) -> bool {
        let init = Operator::Base(BaseSet::Tagged(Tag::Init));
        let last = Operator::Base(BaseSet::FinalWrites);
        let without = |set: NodeId, what: &Operator| match *self.graph.operator(set) {
            Operator::SetDifference(_, removed) => self.graph.operator(removed) == what,
            _ => false,
        };
        match *self.graph.operator(node) {
            Operator::EmptyRelation => true,
            Operator::Product(a, b) => {
                (*self.graph.operator(a) == init && without(b, &init))
                    || (without(a, &last) && *self.graph.operator(b) == last)
            }
            _ => false,
        }
    }
}

/// What the expression yielded: a set of unions of orders, or nothing of that type.
fn produced(value: Value) -> Option<SortedSet<SortedSet<(u32, u32)>>> {
    let Value::Collection(values) = value else { return None };
    let unions = values.into_iter().map(|value| match value {
        Value::Orders(orders) => Some(orders),
        Value::Empty => Some(SortedSet::new()),
        _ => None,
    });
    unions.collect()
}

/// One union per choice of an order for each location.
fn expected(sizes: &[u32]) -> SortedSet<SortedSet<(u32, u32)>> {
    let mut unions = SortedSet::from([SortedSet::new()]);
    for (class, &size) in sizes.iter().enumerate() {
        unions = (0..size)
            .flat_map(|order| {
                unions.iter().map(move |union| {
                    let mut union: SortedSet<(u32, u32)> = union.clone();
                    union.insert((class as u32, order));
                    union
                })
            })
            .collect();
    }
    unions
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Class(a), Value::Class(b)) => a == b,
        (Value::Orders(a), Value::Orders(b)) => a == b,
        (Value::Empty, Value::Empty) => true,
        (Value::Empty, Value::Orders(orders)) | (Value::Orders(orders), Value::Empty) => orders.is_empty(),
        (Value::Empty, Value::Collection(values)) | (Value::Collection(values), Value::Empty) => values.is_empty(),
        (Value::Collection(a), Value::Collection(b)) => {
            a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| same(x, y)))
        }
        _ => false,
    }
}
