// Command gen compiles the shader manifest to SPIR-V and writes the typed registry. It needs glslc and
// spirv-opt (Debian: glslc, spirv-tools), and newer ones for cooperative matrices (see matrix.go). Run by `make generate`,
// from the folder shaders/.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/nngpu/nngpu/shaders/family"
)

// variant is one row of the manifest.
type variant struct {
	key          family.Key        // nil: a kernel that goes by its name alone
	name         string            // file and registry name, snake case; that of the key, where there is one
	source       string            // GLSL file, relative to shaders/
	defines      map[string]string // macros that freeze the variant
	cost         family.Cost       // see family.Info
	subgroupSize uint32
	leastLanes   uint32 // of a subgroup; 0: any
	subgroups    uint32 // see family.Info
	matrix       bool   // compiled by the tools of matrixTools
}

// passes unroll and scalarise: SwiftShader neither unrolls after specialisation nor keeps arrays in
// registers (6 to 13 times slower otherwise).
var passes = []string{
	"--inline-entry-points-exhaustive", "--eliminate-local-single-block", "--eliminate-local-single-store",
	"--ssa-rewrite", "--ccp", "--loop-unroll", "--ccp", "--simplify-instructions", "--eliminate-dead-branches",
	"--scalar-replacement=100", "--local-redundancy-elimination", "--ssa-rewrite", "-O",
}

// alike gives equal things in several variants equal numbers, so that they compress to a quarter. The spirv-opt of Debian 12
// cannot do it.
var alike = []string{"--canonicalize-ids", "--strip-debug"}

func main() {
	only := flag.String("only", "", "compile only variants whose name has this prefix; the registry is always written")
	flag.Parse()
	if err := run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(only string) error {
	lock, err := os.Create(filepath.Join(os.TempDir(), "nngpu-gen.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	list := manifest()
	for i := range list {
		if list[i].key != nil {
			list[i].name = list[i].key.Name()
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	for i := 1; i < len(list); i++ {
		if list[i].name == list[i-1].name {
			return fmt.Errorf("variant %s stands twice in the manifest", list[i].name)
		}
	}
	if err := compileAll(list, only); err != nil {
		return err
	}
	if only != "" {
		list = present(list)
	}
	if err := removeStale(list); err != nil {
		return err
	}
	return writeRegistry(list)
}

func compileAll(list []variant, only string) error {
	var work errgroup.Group
	work.SetLimit(2)
	skip, err := withoutMatrix(list)
	if err != nil {
		return err
	}
	for i := range list {
		if v := &list[i]; strings.HasPrefix(v.name, only) && !(v.matrix && skip) {
			work.Go(func() error {
				if err := compile(v); err != nil {
					return fmt.Errorf("%s: %w", v.name, err)
				}
				return nil
			})
		}
	}
	return work.Wait()
}

func compile(v *variant) error {
	glslc, spirvOpt := "glslc", "spirv-opt"
	if v.matrix {
		glslc, spirvOpt = filepath.Join(matrixTools, glslc), filepath.Join(matrixTools, spirvOpt)
	}
	out := filepath.Join("spv", v.name+".spv")
	tmp := filepath.Join(os.TempDir(), "nngpu-gen-"+v.name+".spv") // not among the files that are embedded
	args := []string{"--target-env=vulkan1.1", "-O0", "-I", "include", "-fshader-stage=compute", "-o", tmp}
	for k, val := range v.defines {
		args = append(args, "-D"+k+"="+val)
	}
	args = append(args, v.source)
	defer os.Remove(tmp)
	if b, err := exec.Command(glslc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("glslc: %w\n%s", err, b)
	}
	opt := append([]string{"--target-env=vulkan1.1"}, passes...)
	if v.matrix {
		opt = append(opt, alike...)
	}
	opt = append(opt, tmp, "-o", out)
	if b, err := exec.Command(spirvOpt, opt...).CombinedOutput(); err != nil {
		return fmt.Errorf("spirv-opt: %w\n%s", err, b)
	}
	return nil
}

// present drops the variants that were never compiled: after a partial run the registry holds what there is.
func present(list []variant) []variant {
	var have []variant
	for _, v := range list {
		if _, err := os.Stat(filepath.Join("spv", v.name+".spv")); err == nil {
			have = append(have, v)
		} else {
			fmt.Fprintln(os.Stderr, "gen: not compiled yet:", v.name)
		}
	}
	return have
}

func removeStale(list []variant) error {
	known := map[string]bool{}
	for i := range list {
		known[list[i].name+".spv"] = true
	}
	files, err := filepath.Glob("spv/*.spv")
	if err != nil {
		return err
	}
	for _, f := range files {
		if !known[filepath.Base(f)] {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeRegistry(list []variant) error {
	var b, keys bytes.Buffer
	b.WriteString("// Code generated by shaders/gen. DO NOT EDIT.\n\npackage shaders\n\n" +
		"import \"github.com/nngpu/nngpu/shaders/family\"\n\nconst (\n")
	for i := range list {
		fmt.Fprintf(&b, "%s Kernel = %d\n", camel(list[i].name), i+1)
	}
	b.WriteString(")\n\nvar infos = [...]family.Info{\n{Name: \"copy\", Bindings: \"ss\"},\n")
	sum := sha256.New()
	for i := range list {
		v := &list[i]
		code, err := os.ReadFile(filepath.Join("spv", v.name+".spv"))
		if err != nil {
			return err
		}
		info, err := describe(code)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		info.Name, info.Cost, info.Subgroups = v.name, v.cost, v.subgroups
		info.Needs.SubgroupSize, info.Needs.LeastLanes = v.subgroupSize, v.leastLanes
		fmt.Fprintf(&b, "%s,\n", strings.TrimPrefix(literal(reflect.ValueOf(info)), "family.Info"))
		if v.key != nil {
			fmt.Fprintf(&keys, "%s: %s,\n", camel(v.name), literal(reflect.ValueOf(v.key)))
		}
		fmt.Fprintf(sum, "%+v\n", info)
		sum.Write(code)
	}
	fmt.Fprintf(&b, "}\n\n// keys has the key of each kernel; nil for those that go by their names.\nvar keys = [len(infos)]family.Key{\n%s}\n\n", &keys)
	b.WriteString("// SetID identifies the whole set: SHA-256 over descriptions and code.\n")
	fmt.Fprintf(&b, "const SetID = %q\n", hex.EncodeToString(sum.Sum(nil)))
	src, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile("registry_gen.go", src, 0o644)
}

// literal is v as Go has it in another package, without what is zero.
func literal(v reflect.Value) string {
	switch {
	case v.CanUint():
		return fmt.Sprint(v.Uint())
	case v.Kind() == reflect.Array:
		list := make([]string, v.Len())
		for i := range list {
			list[i] = literal(v.Index(i))
		}
		return v.Type().String() + "{" + strings.Join(list, ", ") + "}"
	case v.Kind() != reflect.Struct:
		return fmt.Sprintf("%#v", v.Interface())
	}
	var fields []string
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fields = append(fields, v.Type().Field(i).Name+": "+literal(f))
		}
	}
	return v.Type().String() + "{" + strings.Join(fields, ", ") + "}"
}

// camel turns conv_gemm_f32_8x8 into ConvGemmF32X8x8: an upper-case letter for each part.
func camel(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(s, "_") {
		if part == "" {
			continue
		}
		if part[0] >= '0' && part[0] <= '9' {
			b.WriteByte('X')
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
