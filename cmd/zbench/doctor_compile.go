package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/backend"
	"zbench/bench/exit"
	"zbench/internal/codeobject"
	"zbench/internal/doctor"
	"zbench/internal/native"
)

// runCompile builds every kernel for the asked architectures, without a GPU.
func runCompile(ctx context.Context, s State, o doctorOptions, report doctor.Report) error {
	of := o.backend
	if of == "auto" {
		of = vendorOf(o.archs[0])
	}
	if of == "loopback" {
		return usagef("the loopback's kernels are in the binary", "--compile needs --backend %s", backendNames(" or "))
	}
	b := doctor.Backend{Name: of, Install: backend.Like(of).Product}
	options, err := o.options(ctx, s, of)
	if err != nil {
		return err
	}
	c, err := native.OpenCompiler(options)
	if err != nil {
		report.Backends = []doctor.Backend{notOpened(b, err)}
		report.Verdict = "no run-time compiler"
		return errors.Join(o.show(s, &report), quietError{exit.Unavailable})
	}
	defer c.Close()
	b.Libraries = libraryFacts(of, []native.Search{*c.Search})
	report.Usable = true
	for _, arch := range o.archs {
		compiled := compileKernels(c, arch)
		report.Usable = report.Usable && len(compiled.Errors) == 0
		b.Compiled = append(b.Compiled, compiled)
	}
	b.Usable, report.Verdict = report.Usable, "every kernel compiles for "+strings.Join(o.archs, ", ")
	if !report.Usable {
		b.Why, report.Verdict = "a kernel does not compile", "not every kernel compiles"
	}
	report.Backends = []doctor.Backend{b}
	if err := o.show(s, &report); err != nil {
		return err
	}
	if !report.Usable {
		return quietError{exit.Run}
	}
	return nil
}

// vendorOf is the backend of an architecture by its first letters, else the first one.
func vendorOf(arch string) string {
	for _, v := range backend.Vendors() {
		for prefix := range v.Waves {
			if strings.HasPrefix(arch, prefix) {
				return v.Backend
			}
		}
	}
	return backend.Like("").Backend
}

// compileKernels builds each file of the kernel table and looks for its kernels
// in the code.
func compileKernels(c *native.Compiler, arch string) doctor.Compiled {
	out := doctor.Compiled{Arch: arch}
	files := map[string][]string{}
	for _, k := range native.Kernels() {
		files[k.File] = append(files[k.File], k.Name)
	}
	c.Expect(len(files))
	for _, k := range native.Kernels() { // in the table's order
		names := files[k.File]
		if names == nil {
			continue
		}
		delete(files, k.File)
		out.Files++
		n, err := compileFile(c, arch, k.File, names)
		out.Kernels += n
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		}
	}
	return out
}

// compileFile returns how many of the kernels the code has; it is an error when
// one is missing or the code is for another GPU.
func compileFile(c *native.Compiler, arch, file string, names []string) (int, error) {
	code, err := c.Compile(native.CompileRequest{File: file, Arch: arch})
	if err != nil {
		return 0, err
	}
	object, err := codeobject.Read(code)
	if err != nil {
		return 0, fmt.Errorf("%s for %s: %w", file, arch, err)
	}
	base, _, _ := strings.Cut(arch, ":") // gfx942:sramecc+:xnack-
	if object.Target != "" && object.Target != strings.TrimRight(base, "af") && object.Target != base {
		return 0, fmt.Errorf("%s for %s: the code is for %s", file, arch, object.Target)
	}
	found := 0
	var missing []string
	for _, name := range names {
		if slices.Contains(object.Kernels, name) {
			found++
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return found, fmt.Errorf("%s for %s: the code lacks %s", file, arch, strings.Join(missing, ", "))
	}
	return found, nil
}
