//! The members of an NPZ archive.

use crate::catalog::{self, Catalog, Compression, Finding, Place, Shape, TensorInfo};
use crate::dtype::StoredType;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::text::shortened;

use super::super::zip::{Archive, Member, Method};
use super::Recognition;
use super::array::{self, Storage};
use super::header::{self, Header, MAGIC, Parsed, USUAL};

/// How many members are looked into to recognise an archive whose names say nothing.
const LOOK_INTO: usize = 8;

/// Whether this is the member that makes an archive PyTorch's.
pub(super) fn is_pickle(name: &[u8]) -> bool {
    name == b"data.pkl" || name.ends_with(b"/data.pkl")
}

/// Whether an archive is one of arrays.
pub(super) fn recognize(archive: &Archive<'_>, named: bool) -> Recognition {
    let names = || archive.members().iter().map(|member| archive.name(member));
    if names().any(|name| is_pickle(name.as_bytes())) {
        return Recognition::No;
    }
    let arrays = names().any(|name| name.ends_with(".npy"))
        || archive.members().iter().take(LOOK_INTO).any(|member| {
            let start = archive.start_of(member, MAGIC.len(), &mut Vec::new()).map(<[u8]>::to_vec);
            start.is_ok_and(|start| start == MAGIC)
        });
    match (arrays, named) {
        (true, _) => Recognition::Certain,
        (false, true) => Recognition::Likely,
        (false, false) => Recognition::No,
    }
}

/// Lists an archive's arrays.
pub(super) fn open(input: &Input, budget: &Budget) -> Result<Catalog> {
    let mut archive = Archive::open(input, budget)?;
    let mut catalog = Catalog::default();
    archive.report(&mut catalog);
    // Each array is charged when it is added, so the memory is not reserved all at once.
    catalog.tensors.reserve(archive.members().len().min(1024));
    let mut list = List::new(&archive, budget, catalog);
    for member in archive.members().iter().filter(|member| !archive.is_hidden(member)) {
        list.add(member)?;
    }
    let mut catalog = list.finish();
    let end = input.whole_len()?;
    catalog.declared_len = Some(end);
    if archive.is_recovered() {
        crate::note_truncation(&mut catalog, end);
    }
    Ok(catalog)
}

/// What has been found so far.
struct List<'a> {
    archive: &'a Archive<'a>,
    budget: &'a Budget,
    catalog: Catalog,
    assumed: usize,
    others: Vec<String>,
    others_count: usize,
    scratch: Vec<u8>,
}

/// How many members that are not arrays are named.
const NAMED: usize = 3;

impl<'a> List<'a> {
    fn new(archive: &'a Archive<'a>, budget: &'a Budget, catalog: Catalog) -> Self {
        let (others, scratch) = (Vec::new(), Vec::new());
        Self { archive, budget, catalog, assumed: 0, others, others_count: 0, scratch }
    }

    fn add(&mut self, member: &Member) -> Result<()> {
        let (archive, budget) = (self.archive, self.budget);
        let name = name_of(archive, member);
        let read = match member.refusal() {
            Some(reason) => Err(Error::unsupported(reason)),
            None => self.array(member, name),
        };
        let claims = archive.name(member).ends_with(".npy");
        let error = match read {
            Ok(Some(tensor)) => return array::push(&mut self.catalog, tensor, budget),
            Ok(None) if claims => Error::malformed("not an NPY array: wrong magic bytes"),
            Ok(None) => return self.note_other(archive.name(member)),
            // Reading further members would fail the same way.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => {
                return Err(error.in_tensor(name));
            }
            Err(error) => error,
        };
        let kind = match error.kind() {
            ErrorKind::Unsupported => "unreadable-record",
            _ => "damaged-array",
        };
        self.catalog.findings.push(Finding::of(name, kind, error.message()));
        if claims {
            array::push(&mut self.catalog, unknown(name, error.message()), budget)
        } else {
            self.note_other(archive.name(member))
        }
    }

    /// The array in a member; `None` if there is none.
    fn array(&mut self, member: &Member, name: &str) -> Result<Option<TensorInfo>> {
        let Some(header) = self.header(member)? else { return Ok(None) };
        let run = self.archive.run_of(member, &mut self.catalog)?;
        let bytes = (!member.is_incomplete()).then(|| member.size.saturating_sub(header.len));
        let storage = Storage { run, bytes };
        let mut tensor = array::tensor(name, &header, &storage)?;
        array::check_length(&tensor, &header, &storage, &mut self.catalog);
        self.check_member(&mut tensor, member, &storage);
        self.assumed = self.assumed.saturating_add(usize::from(header.kind.assumed));
        Ok(Some(tensor))
    }

    fn header(&mut self, member: &Member) -> Result<Option<Header>> {
        let mut wanted = USUAL;
        loop {
            let bytes = self.archive.start_of(member, wanted, &mut self.scratch)?;
            if !bytes.starts_with(MAGIC) {
                return Ok(None);
            }
            match header::parse(bytes, self.budget)? {
                Parsed::Whole(header) => return Ok(Some(header)),
                Parsed::Needs(len) if len <= wanted => {
                    return Err(Error::malformed("the array header is truncated"));
                }
                Parsed::Needs(len) => {
                    self.budget.charge(len as u64, "the array header")?;
                    wanted = len;
                }
            }
        }
    }

    /// An array may not reach beyond its member: there the next one starts.
    fn check_member(&mut self, tensor: &mut TensorInfo, member: &Member, storage: &Storage) {
        let findings = &mut self.catalog.findings;
        if let Some(have) = storage.bytes.filter(|have| *have < tensor.bytes) {
            let missing = tensor.bytes.saturating_sub(have);
            let message =
                format!("{missing} of {} bytes are missing from the archive member", tensor.bytes);
            findings.push(Finding::of(&tensor.name, "truncated", message.as_str()));
            tensor.refused.get_or_insert(message.into());
        }
        if member.method == Method::STORED {
            return;
        }
        if member.is_incomplete() {
            let message = "the file ends inside the compressed data";
            findings.push(Finding::of(&tensor.name, "truncated", message));
        } else if let Err(error) =
            self.budget.ratio(member.compressed, member.size, "the archive member")
        {
            findings.push(Finding::of(&tensor.name, "compression-ratio", error.message()));
            tensor.refused.get_or_insert(error.message().into());
        }
    }

    fn note_other(&mut self, name: &str) -> Result<()> {
        self.others_count = self.others_count.saturating_add(1);
        if self.others.len() < NAMED {
            self.others.push(format!("`{}`", shortened(name, 60)));
        }
        Ok(())
    }

    fn finish(self) -> Catalog {
        let mut catalog = self.catalog;
        if self.assumed > 0 {
            let note = format!("{} ({} here)", super::ASSUMED, self.assumed);
            catalog.notes.push(note);
        }
        if self.others_count > 0 {
            let more = self.others_count.saturating_sub(self.others.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let note = format!("members other than arrays: {}{more}", self.others.join(", "));
            catalog.notes.push(note);
        }
        let is_deflated = |member: &catalog::Member| member.compression == Compression::Deflate;
        let how = if catalog.members.iter().all(is_deflated) { "deflated" } else { "packed" };
        catalog.detail = match (catalog.members.len(), catalog.tensors.len()) {
            (_, 0) => None,
            (0, _) => Some("stored".to_owned()),
            (packed, all) if packed == all => Some(how.to_owned()),
            (packed, all) => Some(format!("{packed} of {all} arrays {how}")),
        };
        catalog
    }
}

/// `NAME.npy` is called `NAME`, unless there is also a member of that name.
fn name_of<'a>(archive: &'a Archive<'_>, member: &Member) -> &'a str {
    let full = archive.name(member);
    full.strip_suffix(".npy").filter(|name| archive.find(name).is_none()).unwrap_or(full)
}

/// An array of which only the name is known.
fn unknown(name: &str, reason: &str) -> TensorInfo {
    TensorInfo {
        name: name.into(),
        shape: Shape::new(),
        stored: StoredType::opaque("?"),
        bytes: 0,
        place: Place::nowhere(),
        refused: Some(reason.into()),
    }
}
