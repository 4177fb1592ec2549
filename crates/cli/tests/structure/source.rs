//! The files of a crate and what they name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemImpl, ItemMod, ItemStruct, ItemUse, Type, UseTree, Visibility};

/// A crate as its source says.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) files: Vec<File>,
}

/// A file of one module.
#[derive(Debug, Default)]
pub(super) struct File {
    path: PathBuf,
    /// The module that it is, from the root of the crate.
    module: Vec<String>,
    /// Paths in it that begin at the crate, at itself, or at its parent.
    pub(super) paths: Vec<Vec<String>>,
    /// Names that it imports, and from where.
    imports: BTreeMap<String, Vec<String>>,
    /// Those of them that it exports once more.
    exports: BTreeMap<String, Vec<String>>,
    /// Types that it has methods or traits for, as it names them.
    pub(super) extended: Vec<Vec<String>>,
    /// Its structs, and how many fields they have.
    pub(super) structs: Vec<(String, usize)>,
    /// Its types.
    types: Vec<String>,
    /// The modules in it.
    children: Vec<String>,
}

impl Crate {
    /// All files of a crate but those of tests.
    pub(super) fn read(folder: &Path) -> Self {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let (root, mut files) = (folder.join("src"), Vec::new());
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let of_tests = path.file_stem().is_some_and(|name| name == "tests");
                if of_tests {
                    continue;
                } else if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = std::fs::read_to_string(&path).expect("a text");
                    let name = path.strip_prefix(&root).expect("it is in there");
                    files.push(File::parse(&name.to_string_lossy(), &text));
                }
            }
        }
        Self { name, files }
    }

    /// The file of the module that a path in `file` leads into.
    pub(super) fn resolve(&self, file: &File, path: &[String]) -> Option<usize> {
        self.follow(&file.absolute(path)?, 0)
    }

    fn follow(&self, path: &[String], depth: usize) -> Option<usize> {
        let len = (0..=path.len()).rev().find(|len| self.module(&path[..*len]).is_some())?;
        let found = self.module(&path[..len])?;
        let again = path.get(len).and_then(|name| self.files[found].exports.get(name));
        match again.and_then(|to| self.files[found].absolute(to)) {
            Some(mut to) if depth < 8 && to != path => {
                to.extend_from_slice(&path[len + 1..]);
                self.follow(&to, depth + 1)
            }
            _ => Some(found),
        }
    }

    fn module(&self, path: &[String]) -> Option<usize> {
        self.files.iter().position(|file| file.module == path)
    }

    /// The file that defines a type that `file` names by this path.
    pub(super) fn home(&self, file: &File, path: &[String]) -> Option<usize> {
        let name = path.last()?;
        if path.len() == 1 && file.types.contains(name) {
            return self.module(&file.module);
        }
        let path = match (path.len(), file.imports.get(name)) {
            (1, Some(import)) => import.clone(),
            _ => path.to_vec(),
        };
        self.resolve(file, &path).filter(|home| self.files[*home].types.contains(name))
    }
}

impl File {
    /// A file with this name in the folder of sources.
    ///
    /// # Panics
    /// When it is no Rust.
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let path = PathBuf::from(name);
        let mut module: Vec<String> = path
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        let is_root = module.len() == 1 && matches!(module[0].as_str(), "lib" | "main");
        if is_root || module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let mut file = Self { path, module, ..Self::default() };
        file.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}")));
        file
    }

    pub(super) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// A path from the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (from, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.module[..], &path[1..]),
            "super" => (self.module.get(..self.module.len().checked_sub(ups)?)?, &path[ups..]),
            child if self.children.iter().any(|it| it == child) => (&self.module[..], path),
            _ => return None,
        };
        Some([from, rest].concat())
    }

    fn import(&mut self, tree: &UseTree, before: &[String], exports: bool) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(path.ident.to_string()), exports),
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.import(item, before, exports));
            }
            UseTree::Name(name) => {
                self.add(name.ident.to_string(), with(name.ident.to_string()), exports);
            }
            UseTree::Rename(name) => {
                self.add(name.rename.to_string(), with(name.ident.to_string()), exports);
            }
            UseTree::Glob(_) => self.paths.push(before.to_vec()),
        }
    }

    fn add(&mut self, name: String, path: Vec<String>, exports: bool) {
        self.paths.push(path.clone());
        if exports {
            self.exports.insert(name.clone(), path.clone());
        }
        self.imports.insert(name, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let of_tests = |list: &syn::MetaList| list.tokens.to_string() == "test";
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(of_tests)
    })
}

fn parts(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

impl<'ast> Visit<'ast> for File {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.children.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.types.push(item.ident.to_string());
        self.structs.push((item.ident.to_string(), item.fields.len()));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.types.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let (Type::Path(of), None) = (&*item.self_ty, &item.trait_) {
            self.extended.push(parts(&of.path));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = parts(path);
        if matches!(parts[0].as_str(), "crate" | "self" | "super") && parts.len() > 1 {
            self.paths.push(parts);
        }
        visit::visit_path(self, path);
    }
}
