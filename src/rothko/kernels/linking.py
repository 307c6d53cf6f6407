"""Kernels that only kernels call: typed and turned into LLVM's language, then linked into those that call them.

Numba makes machine code of every function that it compiles, with a wrapper for Python and one for C; and again as a
part of each function that calls it, and of those that call that. Two of three kernels are never called from Python. For
them nothing of this is done: the kernels that are called take them in as they are, and all is optimised once.

This and ``loading.py`` are the places that know of Numba's inside: its passes and code libraries are no promise of
Numba's, and a new version of it is tried before it is allowed.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """Code to be linked, with all that it calls; neither optimised as a whole nor made into machine code."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # By this the function is found where it is called: something built in, as Numba asks, and like nothing else.
        found_by = [].clear
        state.targetctx.insert_user_function(found_by, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=found_by)
        return True


class _Linked(CompilerBase):  # type: ignore[misc]
    """Numba's own way, but for the last step."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = [(_Lowering, said) if step is NativeLowering else (step, said) for step, said in manager.passes]
        manager.passes[:] = passes
        manager._finalized = False
        manager.finalize()
        return [manager]


def linked(function: Any, **options: Any) -> Any:
    """Compile a kernel into those that call it.

    A number that is written out, such as 0, is of the type of all others here; to Numba it has one of its own, for
    which a function and all that it calls would be compiled again.
    """
    kernel = njit(pipeline_class=_Linked, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    template = kernel.get_call_template
    kernel.get_call_template = lambda args, kws: template(tuple(map(types.unliteral, args)), kws)
    return kernel
