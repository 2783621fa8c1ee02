//! Globals that only an attack needs: naming one is enough to distrust a file.
//!
//! The lists are of what runs programs, evaluates text as code, imports, opens files or
//! connections, loads another pickle, or reaches such a function by a detour (attributes of
//! modules that happen to import one, `__globals__` and the like). What is merely unusual is
//! not here: it counts as unknown, which is reported too.

/// Packages of which nothing belongs into a weight file, nor anything below them.
static PACKAGES: &[&str] = names! {
    _aix_support, _bootsubprocess, _cffi_backend, _ctypes, _frozen_importlib,
    _frozen_importlib_external, _imp, _interpreters, _osx_support, _pickle, _posixsubprocess,
    _pyrepl, _socket, _testcapi, _testinternalcapi, _tkinter, _winapi, _xxsubinterpreters, aiohttp,
    asyncio, asyncore, cPickle, cffi, ctypes, distutils, doctest, ensurepip, ftplib, http, httplib,
    idlelib, imaplib, imp, importlib, lib2to3, marshal, msvcrt, nntplib, nt, os, pickle, pip,
    poplib, posix, requests, setuptools, shutil, smtplib, socket, socketserver, SocketServer, ssl,
    subprocess, sys, sysconfig, telnetlib, turtledemo, urllib, urllib2, urllib3, tkinter, venv,
    wsgiref, xmlrpc, hydra._internal.instantiate, logging.config, multiprocessing.forkserver,
    multiprocessing.managers, multiprocessing.popen_fork, multiprocessing.popen_forkserver,
    multiprocessing.popen_spawn_posix, multiprocessing.popen_spawn_win32, multiprocessing.spawn,
    numpy.ctypeslib, numpy.f2py, numpy.distutils, numpy.testing, torch.hub, torch._inductor,
    torch.utils.cpp_extension, torch.utils.model_zoo, torch.utils.bottleneck,
    torch.utils.collect_env, torch.utils.hipify, torch.testing, torch.package,
    torch.distributed.elastic, torch.distributed.run, torch.distributed.launch,
    torch.distributed.rpc, transformers.dynamic_module_utils,
};

/// Exceptions: harmless, and written by honest programs.
static HARMLESS: &[&str] = &["distutils.version", "setuptools._distutils.version"];

/// Modules of which nothing belongs into a weight file, matched exactly: a package below one of
/// these names may be harmless.
static MODULES: &[&str] = names! {
    antigravity, bdb, cProfile, cgi, cgitb, code, codeop, commands, compileall, dl, fileinput,
    linecache, mailcap, pdb, pipes, popen2, profile, pty, py_compile, pyclbr, pydoc, rlcompleter,
    runpy, shelve, site, smtpd, timeit, trace, webbrowser, winreg, zipapp, zipimport,
};

/// Single functions of modules that are otherwise harmless.
static FUNCTIONS: &[&str] = names! {
    _codecs.lookup, _io.FileIO, _io.open, _io.open_code, _operator.attrgetter,
    _operator.methodcaller, builtins.__import__, builtins.apply, builtins.breakpoint,
    builtins.compile, builtins.delattr, builtins.eval, builtins.exec, builtins.execfile,
    builtins.exit, builtins.file, builtins.getattr, builtins.globals, builtins.help, builtins.input,
    builtins.locals, builtins.open, builtins.quit, builtins.raw_input, builtins.reload,
    builtins.setattr, builtins.vars, cloudpickle.load, cloudpickle.loads,
    cloudpickle.cloudpickle._builtin_type, cloudpickle.cloudpickle._make_function,
    cloudpickle.cloudpickle._make_skel_func, cloudpickle.cloudpickle.subimport, codecs.open,
    // The registry behind extension codes: it turns text into a global.
    copyreg._extension_cache, copyreg._extension_registry, copyreg._inverted_registry,
    copyreg.add_extension, copyreg.dispatch_table, copyreg.pickle, detectron2.utils.registry.locate,
    dill.load, dill.loads, dill._dill._create_code, dill._dill._create_function,
    dill._dill._eval_repr, dill._dill._get_attr, dill._dill._import_module, dill._dill.load,
    dill._dill.loads, django.utils.module_loading.import_string, ensurepip._run_pip, fsspec.open,
    hydra._internal.utils._locate, hydra.utils.call, hydra.utils.get_class, hydra.utils.get_method,
    hydra.utils.get_object, hydra.utils.instantiate, io.FileIO, io.open, io.open_code, joblib.load,
    joblib.numpy_pickle.load, keras.models.load_model, mmcv.utils.import_modules_from_strings,
    mmcv.utils.misc.import_modules_from_strings, multiprocessing.reduction.ForkingPickler,
    multiprocessing.util.spawnv_passfds, numexpr.evaluate, numpy.load, numpy.lib.npyio.load,
    numpy.lib._npyio_impl.load, numpy.fromfile, operator.attrgetter, operator.methodcaller,
    pandas.eval, pandas.core.computation.eval.eval, pandas.io.pickle.read_pickle,
    pandas.read_pickle, pathlib.os, pkgutil.get_data, pkgutil.resolve_name, platform.popen,
    pydoc.pipepager, six._import_module, six.exec_, six.moves.getoutput, six.moves.input,
    six.moves.reload_module, sympy.parsing.sympy_parser.parse_expr, sympy.sympify,
    test.support.interpreters, test.support.script_helper, torch._C._import_ir_module_from_package,
    torch._C.import_ir_module, torch._C.import_ir_module_from_buffer,
    torch._dynamo.guards.GuardBuilder.get, torch._ops._Ops.load_library, torch.classes.load_library,
    torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression,
    torch.fx.graph_module._EvalCacheLoader, torch.fx.graph_module._exec_with_source,
    torch.fx.graph_module._forward_from_src, torch.from_file, torch.jit._serialization.load,
    torch.jit._serialization.save, torch.jit.load, torch.jit.unsupported_tensor_ops.execWrapper,
    torch.load, torch.ops.load_library, torch.save, torch.serialization._legacy_load,
    torch.serialization._load, torch.serialization.load, torch.serialization.save,
    torch.utils._config_module.ConfigModule.load_config, torch.utils._config_module.load_config,
    torch.utils.data.datapipes.utils.decoder.basichandlers, types.CodeType, types.FunctionType,
    types.LambdaType, types.MethodType, unittest.mock._importer, uuid._get_command_stdout,
    uuid._popen, yaml.full_load, yaml.load, yaml.unsafe_load,
};

/// Modules that other modules happen to import, often under a name with an underscore before it.
static IMPORTED: &[&str] = names! {
    os, sys, posix, nt, subprocess, builtins, importlib, shutil, socket, ctypes, runpy, pickle,
    marshal,
};

/// Attributes that lead out of any class or module.
static DETOURS: &[&str] = names! {
    __builtins__, __builtin__, __import__, __globals__, __subclasses__, __loader__, __spec__,
    __code__, __reduce__, __reduce_ex__, __getattribute__, __setattr__, __getattr__, __dict__,
    __bases__, __base__, __mro__, __class__, __call__, func_globals, f_globals, gi_frame,
};

/// Functions that run something, by whatever name their module goes.
static RUNNERS: &[&str] = names! {
    system, popen, Popen, eval, exec, exec_, execfile, getoutput, getstatusoutput, check_output,
    check_call, import_module, load_module, runstring,
};

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
    ("xmlrpclib", "xmlrpc.client"),
    ("SimpleXMLRPCServer", "xmlrpc.server"),
    ("BaseHTTPServer", "http.server"),
    ("SimpleHTTPServer", "http.server"),
    ("CGIHTTPServer", "http.server"),
    ("_winreg", "winreg"),
    ("Tkinter", "tkinter"),
];

/// The module's name in Python 3, where Python 2 had another.
pub(crate) fn python3_name(module: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == module).map(|&(_, new)| new)
}

/// No honest name is longer; a longer one is not looked at.
pub(super) const LONGEST: usize = 500;

/// Whether a global is one of those.
pub(crate) fn is_dangerous(module: &str, name: &str) -> bool {
    if module.len() > LONGEST || name.len() > LONGEST {
        return true;
    }
    let module = python3_name(module).unwrap_or(module);
    // Looked up as one path: a dot may be on either side of the border.
    let path = format!("{module}.{name}");
    if HARMLESS.iter().any(|outer| within(module, outer)) && !name.contains('.') {
        return false;
    }
    PACKAGES.iter().any(|outer| within(&path, outer) && path.len() > outer.len())
        || MODULES.contains(&module)
        || FUNCTIONS.iter().any(|function| within(&path, function))
        || leads_out(name)
        || (within(module, "pathlib") && name.contains('.'))
}

/// Whether `path` is `outer` or something below it.
fn within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a dotted name walks from where it starts into something dangerous: a module's imports
/// are its attributes, so `torch.nn.modules.module` has a `torch.load` as well.
fn leads_out(name: &str) -> bool {
    let imported = |part: &str| IMPORTED.contains(&part.trim_start_matches('_'));
    if name.split('.').any(|part| DETOURS.contains(&part) || imported(part)) {
        return true;
    }
    let mut rest = name;
    while let Some((first, after)) = rest.split_once('.') {
        let is_class = first.starts_with(|c: char| c.is_uppercase());
        let next = after.split('.').next().unwrap_or_default();
        let path = match first {
            "np" => format!("numpy.{after}"),
            _ => rest.to_owned(),
        };
        if PACKAGES.iter().any(|outer| within(&path, outer))
            || MODULES.contains(&first)
            || FUNCTIONS.iter().any(|function| within(&path, function))
            || (!is_class && RUNNERS.contains(&next))
        {
            return true;
        }
        rest = after;
    }
    false
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
            // Through what a module has imported.
            ("random", "_os.system"),
            ("random", "_os"),
            ("collections", "_sys.modules"),
            ("torch.nn.modules.module", "torch.load"),
            ("torch.nn.modules.module", "torch.hub.load"),
            ("torch.nn.functional", "np.load"),
            ("mylab.net", "helpers.system"),
            ("mylab.net", "pdb.run"),
            // Text that becomes a global.
            ("copyreg", "add_extension"),
            ("copy_reg", "add_extension"),
            ("hydra.utils", "instantiate"),
            ("logging.config", "dictConfig"),
            ("dill._dill", "_import_module"),
            ("xmlrpclib", "ServerProxy"),
            ("torch.serialization", "save"),
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
            ("distutils.version", "LooseVersion"),
            ("logging", "getLogger"),
            ("operator", "itemgetter"),
            ("torch.optim.lr_scheduler", "OneCycleLR._annealing_cos"),
            ("mylab.train", "Trainer.eval"),
            ("transformers.training_args", "TrainingArguments"),
            ("transformers.trainer_utils", "IntervalStrategy"),
            ("omegaconf.dictconfig", "DictConfig"),
            ("deepspeed.runtime.zero.config", "ZeroStageEnum"),
            ("megatron.core.enums", "ModelType"),
            ("models.yolo", "Model"),
            ("numpy.random", "__RandomState_ctor"),
            ("typing", "Any"),
            ("multiprocessing.synchronize", "Lock"),
        ] {
            assert!(!is_dangerous(module, name), "{module}.{name}");
        }
    }
}
