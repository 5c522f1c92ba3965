//! Every operator is in the table, with cases.

use super::*;

#[test]
fn every_entry_has_cases_and_a_name_of_its_own() {
    let mut names = HashSet::new();
    for entry in rules::table() {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        assert!(!entry.formula.is_empty(), "{} has no formula", entry.name);
        let cases = (entry.cases)();
        assert!(!cases.is_empty(), "{} has no case", entry.name);
        if let Some(reference) = entry.reference {
            assert_eq!(
                reference.special.len(),
                reference.domains.len(),
                "{}",
                entry.name
            );
            assert!(
                reference.special.iter().all(|points| !points.is_empty()),
                "{}",
                entry.name
            );
        }
        for case in cases {
            assert_eq!(case.op.name(), entry.name);
        }
    }
}

/// The files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|e| e.expect("a readable folder").path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    paths.flat_map(below).collect()
}

/// The files of `src/rules/linalg` that are there without the feature `linalg`, by the list in its
/// `mod.rs`; with it all are.
fn is_compiled(file: &Path) -> bool {
    let folder = file.parent().expect("a file is in a folder");
    if cfg!(feature = "linalg") || !folder.ends_with("linalg") {
        return true;
    }
    let text = std::fs::read_to_string(folder.join("mod.rs")).expect("a readable file");
    let list = "#[cfg(not(feature = \"linalg\"))]\nfiles! {";
    let list = text.split_once(list).expect("the list of files").1;
    let list = list.split_once('}').expect("the end of the list").0;
    let name = file.file_stem().and_then(|name| name.to_str());
    list.split(',').any(|entry| Some(entry.trim()) == name)
}

/// The types of `src/rules` that implement `Operator`, by their definitions: a structure of
/// their own, or a line `Name = name, "formula"`, `Name = "name"` or `Name, "name"` of a macro.
fn defined_operators() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    let mut found = Vec::new();
    for file in files(&folder) {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        // What all operators share, and what macros make them of, defines none.
        let shared = file.ends_with("mod.rs");
        let operators = text.contains("impl Operator for") || text.contains("\nelementwise! {");
        if shared || !operators || !is_compiled(&file) {
            continue;
        }
        let before = found.len();
        for line in text.lines().map(str::trim_start) {
            let rest = line.strip_prefix("pub struct ").unwrap_or(line);
            let (name, rest) = rest.split_at(rest.find([' ', ',', ';', '{']).unwrap_or(0));
            let named = rest.starts_with(" = ") && line.contains('"');
            let declared = named || rest.starts_with(", \"");
            if name.starts_with(char::is_uppercase) && (declared || line.starts_with("pub struct "))
            {
                found.push(name.to_owned());
            }
        }
        assert!(found.len() > before, "no operator in {}", file.display());
    }
    found
}

#[test]
fn every_operator_type_is_in_the_table() {
    let tested: HashSet<String> = cases()
        .filter_map(|(_, case)| {
            Some(
                format!("{:?}", case.op)
                    .split([' ', '{'])
                    .next()?
                    .to_owned(),
            )
        })
        .collect();
    let defined = defined_operators();
    for name in &defined {
        assert!(tested.contains(name), "{name} is not in the table");
    }
    assert_eq!(defined.len(), tested.len(), "{tested:?}");
}

/// An operator that changes its first operand's memory leaves there what it computes elsewhere.
#[test]
fn updates_give_what_operators_compute() -> Result<()> {
    let mut rng = Rng::seed_from_u64(11);
    let mut updated = HashSet::new();
    for (name, case) in cases() {
        let operands = operands(&case, DType::F64, &mut rng)?;
        let expected = evaluate(&case.op, &operands)?;
        if operands.is_empty() || operands[0].ty() != expected.ty() || !expected.dtype().is_real() {
            continue;
        }
        let mut memory = operands[0].to_f64();
        let others: Vec<_> = operands[1..].iter().map(Array::view).collect();
        let out = ViewMut {
            shape: expected.shape(),
            data: SliceMut::F64(&mut memory),
        };
        let Some(done) = case.op.update(&others, out) else {
            assert_eq!(memory, operands[0].to_f64(), "{name}");
            continue;
        };
        done?;
        assert_eq!(memory, expected.to_f64(), "{name}");
        updated.insert(case.op.name().to_owned());
    }
    assert_eq!(
        updated,
        HashSet::from(["accumulate", "replace_at", "replace_row"].map(str::to_owned))
    );
    Ok(())
}
