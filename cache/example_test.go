package cache_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/nngpu/nngpu/cache"
)

// compile stands for work that is worth keeping: a plan that must be right, and bulk constants.
func compile(source string) (plan, constants []byte) {
	fmt.Println("compiling")
	return []byte("plan of " + source), make([]byte, 1_000_000)
}

// prepare gives what compile would, from the cache if it is there.
func prepare(s *cache.Store, source string) (plan, constants []byte, err error) {
	key := cache.KeyOf([]byte(source), []byte("-O2"))
	if e, err := s.Get(key); err == nil {
		defer e.Close()
		// Each piece is verified as it arrives in the memory where it is needed.
		constants = make([]byte, e.Data.Size())
		if _, err := e.Data.ReadAt(constants, 0); err == nil || errors.Is(err, io.EOF) {
			return e.Model, constants, nil
		}
	}
	plan, constants = compile(source)
	// Whether it could be kept makes no difference to the result; Warn has been told if not.
	_ = s.Put(key, source, plan, constants)
	return plan, constants, nil
}

// Example uses the package on its own, as a caching engine of some compiler.
func Example() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := cache.Open(cache.Options{
		Dir:      filepath.Join(dir, "cache"), // empty: the user's own directories
		StateDir: filepath.Join(dir, "state"),
		MaxBytes: 64 << 20,
		Identity: cache.Identity{Device: "this machine", Build: "compiler 1.0"},
		Warn:     func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		plan, constants, err := prepare(store, "network")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %d bytes\n", plan, len(constants))
	}

	// Somebody changes one bit of the plan.
	infos, err := store.List()
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(store.Path(), infos[0].ID, "model")
	b, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		log.Fatal(err)
	}
	plan, _, err := prepare(store, "network")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", plan)
	st, err := store.Stats()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d entry, %d hit, %d miss, %d rejected\n", st.Entries, st.Hits, st.Misses, st.Rejected)
	// Output:
	// compiling
	// plan of network, 1000000 bytes
	// plan of network, 1000000 bytes
	// compiling
	// plan of network
	// 1 entry, 1 hit, 1 miss, 1 rejected
}

// ExampleHashMap keeps an entry in files that the caller opens, under a token that the caller chooses.
func ExampleHashMap() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := cache.OpenHashMap(cache.Options{StateDir: filepath.Join(dir, "state")})
	if err != nil {
		log.Fatal(err)
	}
	model, err := os.Create(filepath.Join(dir, "model"))
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	data, err := os.Create(filepath.Join(dir, "data"))
	if err != nil {
		log.Fatal(err)
	}
	defer data.Close()
	token := cache.Token{1, 2, 3}
	if err := m.Save(token, []byte("plan"), []byte("constants"), []*os.File{model}, []*os.File{data}); err != nil {
		log.Fatal(err)
	}
	e, err := m.Load(token, []*os.File{model}, []*os.File{data})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %d bytes of data\n", e.Model, e.Data.Size())
	e.Close()
	_, err = m.Load(cache.Token{9}, []*os.File{model}, []*os.File{data})
	fmt.Println(errors.Is(err, cache.ErrMiss))
	// Output:
	// plan, 9 bytes of data
	// true
}
