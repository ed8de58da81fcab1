//! Newtype indices. A bare `usize` never names a thread, an event or a location in a public signature.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("invariant: fewer than 2^32 items"))
            }

            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A thread of the program, in source order.
    ThreadId
);
id!(
    /// A physical memory location.
    LocationId
);
id!(
    /// A virtual address: a name under which a location is reached.
    AddressId
);
id!(
    /// A register of one thread.
    RegisterId
);
id!(
    /// An event of an unfolding, init writes included.
    EventId
);
id!(
    /// A trace of one thread: one way through its code.
    TraceId
);
id!(
    /// A kernel launch of a test that has several.
    KernelId
);
