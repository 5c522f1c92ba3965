//! Functions and arrays that are put together wrongly.

use std::panic::catch_unwind;
use std::sync::Arc;

use wyrmling::array::Dense;
use wyrmling::exec::{Leaf, LossArgument, Program, SampleLoss, batched, interpret};
use wyrmling::ir::{Expression, Function, Instruction, Lengths, Terminator, adjoint, simplify};
use wyrmling::rules::{self, OpRef};
use wyrmling::{Array, DType, Error, Table, Type};

use super::{lookup, without_panic};
use crate::common::numbers;

/// What can be wrong with a function that is put together by hand.
fn broken() -> Vec<(&'static str, Function)> {
    let (table, index) = (Type::new(DType::F64, &[5, 4]), Type::new(DType::U32, &[3]));
    let right = lookup(&table, &index);
    let mut all = Vec::new();
    let mut add = |what, change: &dyn Fn(&mut Function)| {
        let mut function = right.clone();
        change(&mut function);
        all.push((what, function));
    };
    let constant =
        |result, value: Array| Instruction::new(result, Expression::Constant(value.into()));
    let big = Array::full(&Type::new(DType::F64, &[1000, 4]), 1.0);
    add("a constant that is smaller than its type", &|f| {
        f.kinds.push(Type::new(DType::U32, &[1000]).into());
        f.blocks[0]
            .instructions
            .insert(0, constant(4, vec![1u32].into()));
        f.kinds[2] = Type::new(DType::F64, &[1000, 4]).into();
        f.blocks[0].instructions[1].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 4].as_slice().into());
    });
    add("a constant of another element type", &|f| {
        f.kinds.push(Type::new(DType::U32, &[3]).into());
        f.blocks[0]
            .instructions
            .insert(0, constant(4, vec![1e9f32; 3].into()));
        f.blocks[0].instructions[1].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 4].as_slice().into());
    });
    add("a parameter that is defined again, larger", &|f| {
        f.kinds[0] = Type::new(DType::F64, &[1000, 4]).into();
        f.blocks[0].instructions.insert(0, constant(0, big.clone()));
    });
    add("a value that is defined again", &|f| {
        let again = f.blocks[0].instructions[0].clone();
        f.blocks[0].instructions.push(again);
    });
    add("a parameter that is there twice", &|f| {
        f.blocks[0].parameters[1] = 0
    });
    add("an operand that does not exist", &|f| {
        f.blocks[0].instructions[0].expression =
            Expression::Apply(OpRef::Static(&rules::Gather), [0, 77].as_slice().into());
    });
    add("an operand of later", &|f| {
        f.blocks[0].instructions.swap(0, 1)
    });
    add("a result that does not exist", &|f| {
        f.blocks[0].terminator = Terminator::Return(vec![77]);
    });
    add("a result that nobody defines", &|f| {
        f.kinds.push(Type::scalar(DType::F64).into());
        f.blocks[0].terminator = Terminator::Return(vec![4]);
    });
    add("a value without a type", &|f| f.kinds.truncate(3));
    add("a parameter without a type", &|f| f.kinds.clear());
    all
}

#[test]
fn functions_that_are_put_together_wrongly_are_refused() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let index = Array::from(vec![1u32, 4, 1]);
    let leaves = || {
        vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Input {
                id: 1,
                ty: index.ty(),
                name: "rows".into(),
            },
        ]
    };
    for (what, function) in broken() {
        without_panic(&what, || {
            assert!(function.check().is_err(), "{what}");
            assert!(
                matches!(
                    Program::new(function.clone(), leaves()),
                    Err(Error::Value(_))
                ),
                "{what}"
            );
            assert!(adjoint(&function, &[0]).is_err(), "{what}");
            for lengths in [Lengths::Seen, Lengths::Exact] {
                assert!(simplify(&function, lengths).is_err(), "{what}");
            }
            assert!(function.to_string().starts_with("fn "), "{what}");
            let arguments = vec![LossArgument::Parameter(0), LossArgument::Feed(0)];
            let tables = [Arc::clone(&table)];
            assert!(
                batched(&function, &arguments, &tables, &[]).is_err(),
                "{what}"
            );
            let trained = vec![("w".into(), Arc::clone(&table))];
            assert!(
                SampleLoss::new(&function, arguments, trained).is_err(),
                "{what}"
            );
            assert!(
                interpret(&function, &[table.read().into(), index.clone().into()], 99).is_err(),
                "{what}"
            );
        });
    }
    let right = Program::new(lookup(table.ty(), &index.ty()), leaves()).unwrap();
    right.value_and_grad(&[index]).unwrap();
}

#[test]
fn types_in_a_function_are_those_of_its_leaves() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let single = Arc::new(Table::new(&numbers(DType::F32, &[5, 4], 1), None).unwrap());
    let row = Arc::new(Table::new(&numbers(DType::F64, &[5], 1), None).unwrap());
    let index = |ty: Type| Leaf::Input {
        id: 1,
        ty,
        name: "rows".into(),
    };
    let rows = Type::new(DType::U32, &[3]);
    let function = || lookup(table.ty(), &rows);
    let program = |table: &Arc<Table>, index| {
        Program::new(function(), vec![Leaf::Parameter(Arc::clone(table)), index])
    };
    assert!(program(&table, index(rows.clone())).is_ok());
    assert!(matches!(
        program(&single, index(rows.clone())),
        Err(Error::Type(_))
    ));
    assert!(matches!(
        program(&row, index(rows.clone())),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        program(&table, index(Type::new(DType::F64, &[3]))),
        Err(Error::Type(_))
    ));
    assert!(matches!(
        program(&table, index(Type::new(DType::U32, &[3, 1]))),
        Err(Error::Shape(_))
    ));
    // Types in the middle, and lengths of parameters, are no claims: they are inferred again.
    let mut longer = function();
    longer.kinds[0] = Type::new(DType::F64, &[1000, 4]).into();
    let leaves = vec![Leaf::Parameter(Arc::clone(&table)), index(rows)];
    let program = Program::new(longer, leaves).unwrap();
    let wrong = program.run(&[vec![5u32].into()]);
    assert!(matches!(wrong, Err(Error::Index(_))));
    assert!(program.run(&[vec![4u32].into()]).is_ok());
}

#[test]
fn shapes_whose_product_overflows_make_no_array() {
    let shapes: [&[usize]; 4] = [
        &[1 << 32, 1 << 32],
        &[usize::MAX, 2],
        &[0, usize::MAX, 16],
        &[1 << 62],
    ];
    for shape in shapes {
        assert!(Dense::new(shape, vec![1.0f64; 0]).is_err(), "{shape:?}");
        assert!(Dense::<f64>::zeros(shape).is_err(), "{shape:?}");
        let ty = Type::new(DType::F64, shape);
        assert!(Array::zeros(&ty).is_err(), "{shape:?}");
        assert!(Table::zeros(&ty, None).is_err(), "{shape:?}");
        let full = catch_unwind(|| Array::full(&ty, 1.0));
        assert!(full.is_err(), "{shape:?}: {:?}", full.map(|a| a.ty()));
        let rows = wyrmling::Rows::new(ty, vec![0u32; 0].into(), vec![0.0f64; 0].into());
        assert!(rows.is_err(), "{shape:?}");
    }
}
