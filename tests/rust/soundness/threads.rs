//! What may go to another thread, and what may not: a graph, and whatever holds a lock of this thread's.

use wyrmling::exec::{Compiled, Program};
use wyrmling::graph::{Outline, Parameter, Variable};
use wyrmling::io::{Ids, interactions::Interactions};
use wyrmling::ir::{Builder, Function};
use wyrmling::optim::{Optimizer, Snapshot};
use wyrmling::rank::Csr;
use wyrmling::rules::OpRef;
use wyrmling::solvers::CsrMatrix;
use wyrmling::table::{Exclusive, Param};
use wyrmling::train::{Fit, History, Ragged, Sampler, ScoredSampler, Source, Trainer};
use wyrmling::{Array, Error, Gradient, Rows, Table, nn};

/// Does not compile for a type that has the trait: which of the two implementations is meant is not known then.
macro_rules! has_not {
    ($has:ident: $($type:ty),+ $(,)?) => {
        $(const _: fn() = || {
            trait Ambiguous<A> {
                fn ask() {}
            }
            struct Has;
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $has> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::ask;
        };)+
    };
}

has_not!(Send: Variable, Parameter, Outline, nn::Lstm, Trainer<'static>, Exclusive<'static>);
has_not!(Sync: Variable, Parameter, Outline, nn::Lstm, Trainer<'static>, Exclusive<'static>, Builder);

#[test]
fn what_is_no_graph_may_be_shared() {
    fn shared<T: Send + Sync>() {}
    let all: [fn(); 22] = [
        shared::<Table>,
        shared::<Param>,
        shared::<Array>,
        shared::<Gradient>,
        shared::<Rows>,
        shared::<Program>,
        shared::<Compiled>,
        shared::<Function>,
        shared::<OpRef>,
        shared::<Optimizer>,
        shared::<Snapshot>,
        shared::<Sampler>,
        shared::<ScoredSampler>,
        shared::<Source>,
        shared::<Ragged>,
        shared::<Fit>,
        shared::<History>,
        shared::<Ids>,
        shared::<Interactions>,
        shared::<Csr>,
        shared::<CsrMatrix>,
        shared::<Error>,
    ];
    all.iter().for_each(|compiles| compiles());
}

#[test]
fn who_has_a_table_for_itself_is_told_that_it_is_in_use() {
    let table = Table::new(&vec![1.0, 2.0].into(), Some("w".into())).unwrap();
    let mut access = table.exclusive().unwrap();
    let message = |refused: Error| match refused {
        Error::State(message) => message,
        other => panic!("{other:?}"),
    };
    let again = message(table.exclusive().unwrap_err());
    assert!(
        again.starts_with("parameter 'w' is in use by this thread"),
        "{again}"
    );
    let written = message(table.write(&vec![3.0, 4.0].into()).unwrap_err());
    assert_eq!(written, again);
    let read = message(table.try_read().unwrap_err());
    assert!(read.starts_with("parameter 'w' is being changed"), "{read}");
    access.slice::<f64>()[0] = 5.0;
    drop(access);
    assert_eq!(table.read().to_f64(), [5.0, 2.0]);
}
