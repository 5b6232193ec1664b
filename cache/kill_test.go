package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killDirs are where the children of a kill test work.
type killDirs struct {
	Options
	hal string
}

func killOptions(base string) killDirs {
	return killDirs{
		Options: Options{
			Dir: filepath.Join(base, "cache"), StateDir: filepath.Join(base, "state"), Identity: testIdentity,
			MaxBytes: 2 << 20, LockTimeout: 10 * time.Second,
		},
		hal: filepath.Join(base, "hal"),
	}
}

const killKeys = 3

// killContent is an entry whose two parts tell which one they belong to.
func killContent(k int, seed uint64) (model, data []byte) {
	model = binary.LittleEndian.AppendUint64(nil, seed)
	model = append(model, byte(k))
	return append(model, noise(seed, 3000)...), append(bytes.Clone(model), noise(seed+1, 400_000)...)
}

// checkKillContent fails if the parts do not belong together, or not to k.
func checkKillContent(k int, e *Entry) error {
	defer e.Close()
	data, err := io.ReadAll(io.NewSectionReader(e.Data, 0, e.Data.Size()))
	if err != nil {
		return err
	}
	if len(e.Model) < 9 {
		return errors.New("short model")
	}
	wantModel, wantData := killContent(k, binary.LittleEndian.Uint64(e.Model))
	if !bytes.Equal(e.Model, wantModel) || !bytes.Equal(data, wantData) {
		return fmt.Errorf("torn entry %d", k)
	}
	return nil
}

func halFiles(dir string, k int) (files []*os.File, err error) {
	for _, kind := range []string{"model", "data"} {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s%d", kind, k)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// saveForever saves in both forms until the process is killed, and checks what it loads.
func saveForever(args []string) error {
	d := killOptions(args[0])
	d.Warn = func(err error) { fmt.Fprintln(os.Stderr, "warning in a child:", err) }
	s, err := Open(d.Options)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	fmt.Println("ready")
	for {
		k := rng.IntN(killKeys)
		switch rng.IntN(3) {
		case 0:
			model, data := killContent(k, rng.Uint64())
			if err := s.Put(key(k), "", model, data); err != nil && !errors.Is(err, ErrUnavailable) {
				return err
			}
		case 1:
			same := func(old []byte) []byte { return bytes.Clone(old) }
			if err := s.UpdateModel(key(k), same); err != nil && !errors.Is(err, ErrMiss) && !errors.Is(err, ErrUnavailable) {
				return err
			}
		default:
			if err := saveHAL(s, d.hal, k, rng.Uint64()); err != nil && !errors.Is(err, ErrUnavailable) {
				return err
			}
		}
		if err := checkAll(s, d.hal, k); err != nil {
			return err
		}
	}
}

// saveHAL saves entry k in the files of the HAL.
func saveHAL(s *Store, hal string, k int, seed uint64) error {
	f, err := halFiles(hal, k)
	if err != nil {
		return err
	}
	defer closeAll(f)
	model, data := killContent(k, seed)
	return s.Save(Token{byte(k)}, model, data, f[:1], f[1:])
}

// checkAll loads entry k in both forms: whole, or not at all.
func checkAll(s *Store, hal string, k int) error {
	e, err := s.Get(key(k))
	if err == nil {
		err = checkKillContent(k, e)
	} else if errors.Is(err, ErrMiss) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f, err := halFiles(hal, k)
	if err != nil {
		return err
	}
	defer closeAll(f)
	e, err = s.Load(Token{byte(k)}, f[:1], f[1:])
	if errors.Is(err, ErrMiss) || errors.Is(err, ErrRejected) {
		return nil
	}
	if err != nil {
		return err
	}
	// The data of a loaded entry is read without the lock, so a save that runs now may be seen in it: only
	// its numbers can be wrong. Whether it was torn by the kill is checked when nobody saves.
	defer e.Close()
	wantModel, _ := killContent(k, binary.LittleEndian.Uint64(e.Model))
	if !bytes.Equal(e.Model, wantModel) {
		return fmt.Errorf("HAL files: torn model %d", k)
	}
	return nil
}

func init() { children["save"] = saveForever }

// TestKill kills two processes that save in the same directories, at random moments.
func TestKill(t *testing.T) {
	rounds := 20
	if soak() {
		rounds = 200
	}
	base := t.TempDir()
	d := killOptions(base)
	d.Warn = func(err error) { t.Errorf("warning: %v", err) }
	require.NoError(t, os.MkdirAll(d.hal, 0o700))
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	found, cleaned := 0, 0
	for round := range rounds {
		if round == rounds/2 { // two children can spoil two of these: one at least is found, however slow the machine is
			for k := range killKeys {
				require.NoError(t, saveHAL(openStore(t, d.Options), d.hal, k, rng.Uint64()))
			}
		}
		var running []*exec.Cmd
		for range 2 {
			cmd := child(t, "save", base)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = out.Read(make([]byte, 16))
			require.NoError(t, err, "the child ended by itself")
			running = append(running, cmd)
		}
		for _, cmd := range running {
			time.Sleep(time.Duration(rng.IntN(40_000)) * time.Microsecond)
			require.NoError(t, cmd.Process.Kill())
		}
		for _, cmd := range running {
			_ = cmd.Wait()
			require.Equal(t, "signal: killed", cmd.ProcessState.String())
		}

		s := openStore(t, d.Options)
		for k := range killKeys {
			require.NoError(t, checkAll(s, d.hal, k))
			f, err := halFiles(d.hal, k)
			require.NoError(t, err)
			if e, err := s.Load(Token{byte(k)}, f[:1], f[1:]); err == nil {
				require.NoError(t, checkKillContent(k, e))
				found++
			}
			closeAll(f)
		}
		n, err := s.Clean()
		require.NoError(t, err)
		cleaned += n
		noLeaks(t, s, d)
	}
	require.NotZero(t, found, "nothing was ever saved")
	t.Logf("%d loads of %d came through, %d folders cleaned up", found, rounds*killKeys, cleaned)
}

// noLeaks wants nothing in the directories but whole entries and what belongs there.
func noLeaks(t *testing.T, s *Store, d killDirs) {
	if _, err := os.Stat(d.Dir); os.IsNotExist(err) {
		return // the children were killed before their first Put
	}
	infos, err := s.Verify()
	require.NoError(t, err)
	require.LessOrEqual(t, len(infos), killKeys)
	for _, i := range infos {
		require.NoError(t, i.Err)
	}
	files := 0
	for _, path := range tree(t, d.Dir) {
		require.False(t, strings.HasPrefix(path, tempName+"/"), path)
		if st, err := os.Stat(filepath.Join(d.Dir, path)); err == nil && st.Mode().IsRegular() {
			files++
		}
	}
	require.Equal(t, 2*len(infos)+1, files, "two files per entry and the lock")
	state := tree(t, d.StateDir)
	if len(state) == 1 { // the children were killed before their first Save; Put needs the key only
		state = append([]string{databaseName}, state...)
	}
	require.Equal(t, []string{databaseName, keyName}, state)
}
