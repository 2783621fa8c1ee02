//! Globals that only an attack needs: naming one is enough to distrust a file.
//!
//! The lists are of what runs programs, evaluates text as code, imports, opens files or
//! connections, loads another pickle, or reaches such a function by a detour (attributes of
//! modules that happen to import one, `__globals__` and the like). What merely looks odd is not
//! here: it is unknown, which is reported too.

/// Modules of which nothing belongs into a weight file, whatever is below them included.
static PACKAGES: &[&str] = &[
    "_aix_support",
    "_bootsubprocess",
    "_ctypes",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "_imp",
    "_osx_support",
    "_pickle",
    "_posixsubprocess",
    "_pyrepl",
    "_socket",
    "_winapi",
    "aiohttp",
    "asyncio",
    "asyncore",
    "cPickle",
    "ctypes",
    "distutils",
    "doctest",
    "ensurepip",
    "ftplib",
    "http",
    "httplib",
    "idlelib",
    "imaplib",
    "imp",
    "importlib",
    "lib2to3",
    "marshal",
    "msvcrt",
    "nntplib",
    "nt",
    "os",
    "pickle",
    "pip",
    "poplib",
    "posix",
    "requests",
    "setuptools",
    "shutil",
    "smtplib",
    "socket",
    "socketserver",
    "SocketServer",
    "ssl",
    "subprocess",
    "sys",
    "sysconfig",
    "telnetlib",
    "turtledemo",
    "urllib",
    "urllib2",
    "urllib3",
    "venv",
    "wsgiref",
    "xmlrpc",
    "numpy.f2py",
    "numpy.distutils",
    "numpy.testing",
    "torch.hub",
    "torch._inductor",
    "torch.utils.cpp_extension",
    "torch.utils.model_zoo",
    "torch.utils.bottleneck",
    "torch.utils.collect_env",
    "torch.utils.hipify",
    "torch.testing",
    "torch.package",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.rpc",
];

/// The same for modules that have nothing below them: somebody's package may have such a name.
static MODULES: &[&str] = &[
    "antigravity",
    "bdb",
    "cProfile",
    "cgi",
    "code",
    "codeop",
    "commands",
    "compileall",
    "dl",
    "fileinput",
    "linecache",
    "pdb",
    "pipes",
    "popen2",
    "profile",
    "pty",
    "py_compile",
    "pyclbr",
    "pydoc",
    "rlcompleter",
    "runpy",
    "shelve",
    "site",
    "smtpd",
    "timeit",
    "trace",
    "webbrowser",
    "winreg",
    "zipapp",
    "zipimport",
];

/// Single functions of modules that are otherwise harmless.
static FUNCTIONS: &[&str] = &[
    "_codecs.lookup",
    "_io.FileIO",
    "_io.open",
    "_io.open_code",
    "_operator.attrgetter",
    "_operator.methodcaller",
    "builtins.__import__",
    "builtins.apply",
    "builtins.breakpoint",
    "builtins.compile",
    "builtins.delattr",
    "builtins.eval",
    "builtins.exec",
    "builtins.execfile",
    "builtins.exit",
    "builtins.file",
    "builtins.getattr",
    "builtins.globals",
    "builtins.help",
    "builtins.input",
    "builtins.locals",
    "builtins.open",
    "builtins.quit",
    "builtins.raw_input",
    "builtins.reload",
    "builtins.setattr",
    "builtins.vars",
    "cloudpickle.load",
    "cloudpickle.loads",
    "codecs.open",
    "dill.load",
    "dill.loads",
    "dill._dill.load",
    "dill._dill.loads",
    "ensurepip._run_pip",
    "io.FileIO",
    "io.open",
    "io.open_code",
    "joblib.load",
    "keras.models.load_model",
    "logging.config.listen",
    "multiprocessing.util.spawnv_passfds",
    "numpy.load",
    "numpy.lib.npyio.load",
    "numpy.lib._npyio_impl.load",
    "numpy.fromfile",
    "operator.attrgetter",
    "operator.methodcaller",
    "pandas.eval",
    "pandas.read_pickle",
    "pathlib.os",
    "pkgutil.get_data",
    "pkgutil.resolve_name",
    "pydoc.pipepager",
    "test.support.script_helper",
    "torch._dynamo.guards.GuardBuilder.get",
    "torch.classes.load_library",
    "torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression",
    "torch.jit._serialization.load",
    "torch.jit.load",
    "torch.jit.unsupported_tensor_ops.execWrapper",
    "torch.load",
    "torch.ops.load_library",
    "torch.serialization._legacy_load",
    "torch.serialization._load",
    "torch.serialization.load",
    "torch.utils._config_module.ConfigModule.load_config",
    "torch.utils._config_module.load_config",
    "torch.utils.data.datapipes.utils.decoder.basichandlers",
    "types.CodeType",
    "types.FunctionType",
    "types.LambdaType",
    "types.MethodType",
    "unittest.mock._importer",
    "uuid._get_command_stdout",
    "uuid._popen",
];

/// Attributes that lead out of any class or module.
static DETOURS: &[&str] = &[
    "os",
    "sys",
    "posix",
    "nt",
    "subprocess",
    "builtins",
    "importlib",
    "shutil",
    "socket",
    "ctypes",
    "runpy",
    "pickle",
    "_pickle",
    "marshal",
    "__builtins__",
    "__builtin__",
    "__import__",
    "__globals__",
    "__subclasses__",
    "__loader__",
    "__spec__",
    "__code__",
    "__reduce__",
    "__reduce_ex__",
    "__getattribute__",
    "__setattr__",
    "__getattr__",
    "__dict__",
    "__bases__",
    "__base__",
    "__mro__",
    "__class__",
    "__call__",
    "func_globals",
    "f_globals",
    "gi_frame",
];

/// Names of modules that Python 3 changed, and that its reader still accepts.
static RENAMED: &[(&str, &str)] = &[
    ("__builtin__", "builtins"),
    ("exceptions", "builtins"),
    ("commands", "subprocess"),
    ("cPickle", "pickle"),
    ("copy_reg", "copyreg"),
    ("Queue", "queue"),
    ("SocketServer", "socketserver"),
    ("urllib2", "urllib.request"),
    ("httplib", "http.client"),
];

/// The module's name in Python 3, where Python 2 had another.
pub(crate) fn python3_name(module: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == module).map(|&(_, new)| new)
}

/// Whether a global is one of those.
pub(super) fn is_dangerous(module: &str, name: &str) -> bool {
    let module = python3_name(module).unwrap_or(module);
    let within = |path: &str, outer: &str| {
        path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    // Looked up as one path: a dot may be on either side of the border.
    let path = format!("{module}.{name}");
    PACKAGES.iter().any(|outer| within(&path, outer) && path.len() > outer.len())
        || MODULES.contains(&module)
        || FUNCTIONS.iter().any(|function| within(&path, function))
        || name.split('.').any(|part| DETOURS.contains(&part))
        || (within(module, "pathlib") && name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_by_many_roads() {
        for (module, name) in [
            ("os", "system"),
            ("posix", "system"),
            ("nt", "system"),
            ("os.path", "os.system"),
            ("__builtin__", "eval"),
            ("builtins", "exec"),
            ("commands", "Popen"),
            ("subprocess", "Popen"),
            ("runpy", "_run_code"),
            ("torch.serialization", "load"),
            ("torch.serialization", "os.system"),
            ("torch", "hub.load"),
            ("numpy.testing._private.utils", "runstring"),
            ("importlib", "import_module"),
            ("webbrowser", "open"),
            ("collections", "OrderedDict.__init__.__globals__"),
            ("operator", "methodcaller"),
        ] {
            assert!(is_dangerous(module, name), "{module}.{name}");
        }
    }

    #[test]
    fn odd_is_not_dangerous() {
        for (module, name) in [
            ("argparse", "Namespace"),
            ("functools", "partial"),
            ("osmodel.net", "System"),
            ("codebook", "Code"),
            ("pathlib", "PosixPath"),
            ("datetime", "datetime"),
            ("systems", "sysmodel"),
            ("code.models", "Net"),
        ] {
            assert!(!is_dangerous(module, name), "{module}.{name}");
        }
    }
}
