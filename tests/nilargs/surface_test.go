package nilargs

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/nngpu/nngpu/"

// packages are those whose functions refuse nil.
var packages = []string{"driver", "driver/nn", "memory", "cache", "qos", "gpu"}

// TestTableIsComplete: every exported function and method that returns an error, and every place of its arguments where a
// nil can stand, is in the table.
func TestTableIsComplete(t *testing.T) {
	places := surface(t)
	require.NotEmpty(t, places)
	for _, p := range places {
		_, refused := refusals[p]
		_, taken := accepted[p]
		if refused == taken {
			t.Errorf("%s: what becomes of nil there must be in one of the tables", p)
		}
	}
	for p := range refusals {
		require.Contains(t, places, p, "no such place")
	}
	for p := range accepted {
		require.Contains(t, places, p, "no such place")
	}
}

// surface lists the places as "driver.PreparedModel.Execute r.Pools[]".
func surface(t *testing.T) (places []string) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}
	for _, p := range packages {
		args = append(args, module+p)
	}
	list, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(list)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[name] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(files[name]) })
	for _, p := range packages {
		pkg, err := imports.Import(module + p)
		require.NoError(t, err)
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() {
				continue
			}
			switch o := o.(type) {
			case *types.Func:
				places = append(places, placesOf(path.Base(p)+"."+name, o)...)
			case *types.TypeName:
				if types.IsInterface(o.Type()) {
					continue
				}
				methods := types.NewMethodSet(types.NewPointer(o.Type()))
				for i := range methods.Len() {
					if m := methods.At(i).Obj(); m.Exported() {
						places = append(places, placesOf(path.Base(p)+"."+name+"."+m.Name(), m.(*types.Func))...)
					}
				}
			}
		}
	}
	return places
}

// placesOf lists the places of one function; none if it has no error to return.
func placesOf(name string, f *types.Func) (places []string) {
	s := f.Type().(*types.Signature)
	if !slices.ContainsFunc(slices.Collect(s.Results().Variables()), func(v *types.Var) bool { return fails(v.Type()) }) {
		return nil
	}
	for v := range s.Params().Variables() {
		for _, p := range nilable(v.Type(), nil) {
			places = append(places, name+" "+v.Name()+p)
		}
	}
	return places
}

// fails reports whether t is an error, or what has one to wait for.
func fails(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type()) || t.String() == "*"+module+"driver.Execution"
}

// nilable lists where in a value of type t a nil can stand that means that something is missing: in what is exported of the
// project's own structures, too. A nil list is an empty one. inside are the types around t.
func nilable(t types.Type, inside []types.Type) (places []string) {
	if slices.ContainsFunc(inside, func(o types.Type) bool { return types.Identical(o, t) }) {
		return nil
	}
	inside = append(slices.Clip(inside), t)
	switch u := t.Underlying().(type) {
	case *types.Interface, *types.Signature, *types.Map, *types.Chan:
		return []string{""}
	case *types.Pointer:
		return append([]string{""}, nilable(u.Elem(), inside)...)
	case *types.Slice:
		return within("[]", nilable(u.Elem(), inside))
	case *types.Array:
		return within("[]", nilable(u.Elem(), inside))
	case *types.Struct:
		named, ok := t.(*types.Named)
		if ok && named.Obj().Pkg() != nil && !strings.HasPrefix(named.Obj().Pkg().Path()+"/", module) {
			return nil
		}
		for f := range u.Fields() {
			if f.Exported() {
				places = append(places, within("."+f.Name(), nilable(f.Type(), inside))...)
			}
		}
	}
	return places
}

func within(prefix string, places []string) (out []string) {
	for _, p := range places {
		out = append(out, prefix+p)
	}
	return out
}
