//go:build linux

package cache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// maxBoltBytes bounds the database, and with it what checking it allocates. The default number of entries
// takes less than a tenth.
const maxBoltBytes = 16 << 20

// database is a bbolt file that is open only while a transaction runs, because bbolt locks it as long as it
// is open. The lock is taken before bbolt sees the file: the check and the transaction are then one, and
// waiting polls faster than bbolt's own 50 ms.
type database struct {
	path    string
	timeout time.Duration
	warn    *warner
}

// errNoDatabase: the file is not there or has nothing in it yet.
var errNoDatabase = errors.New("no database yet")

// view runs fn in a read-only transaction. The error wraps errNoDatabase or errBolt where that is the
// reason; the latter has been warned about.
func (d *database) view(fn func(*bbolt.Tx) error) error {
	return d.transact(true, func(db *bbolt.DB) error { return db.View(fn) })
}

// update runs fn in a read-write transaction, in a new database if the file is missing or damaged.
func (d *database) update(fn func(*bbolt.Tx) error) error {
	return d.transact(false, func(db *bbolt.DB) error { return db.Update(fn) })
}

func (d *database) transact(readOnly bool, fn func(*bbolt.DB) error) (err error) {
	var file *os.File
	// What the check lets through bbolt should be able to follow; this is for what the check does not
	// know of, and for a file that some other program shortens in between. A fault in the mapping
	// becomes a panic of this goroutine only. bbolt may hold its own locks then, so its Close is not called
	// and the mapping is lost memory.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", errBolt, d.path, r)
			if !readOnly {
				// The check did not see it, so it would happen again.
				_ = file.Truncate(0)
			}
			funlock(file) // the mapping keeps the file open
			file.Close()
			d.warn.damage(err)
		}
	}()
	db, err := bbolt.Open(d.path, 0o600, &bbolt.Options{
		ReadOnly: readOnly,
		Timeout:  d.timeout,
		PageSize: boltPageSize,
		MaxSize:  maxBoltBytes,
		OpenFile: func(path string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := d.open(path, flag, mode, readOnly)
			file = f
			return f, err
		},
	})
	if err != nil {
		if file != nil {
			file.Close() // bbolt does not close it in every case; a second Close does no harm
		}
		return err
	}
	err = fn(db)
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	return err
}

// reset empties the database.
func (d *database) reset() error {
	f, err := os.OpenFile(d.path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX, d.timeout); err != nil {
		return err
	}
	return f.Truncate(0)
}

// open opens, locks and checks the file for bbolt, which finds the lock already held.
func (d *database) open(path string, flag int, mode os.FileMode, readOnly bool) (*os.File, error) {
	how := unix.LOCK_EX
	if readOnly {
		how = unix.LOCK_SH
	}
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
	if errors.Is(err, os.ErrNotExist) && readOnly {
		return nil, errNoDatabase
	}
	if err != nil {
		return nil, err
	}
	if err := d.own(f); err != nil {
		f.Close()
		if readOnly {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		if f, err = os.OpenFile(path, flag|os.O_EXCL|unix.O_NOFOLLOW, mode); err != nil {
			return nil, err
		}
	}
	if err := d.admit(f, how, readOnly); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// own refuses a database that others may write to: who does so while it is mapped could end the process.
func (d *database) own(f *os.File) error {
	st, err := f.Stat()
	if err == nil {
		err = checkOwn(st)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s %w", errBolt, f.Name(), err)
		d.warn.damage(err)
	}
	return err
}

func (d *database) admit(f *os.File, how int, readOnly bool) error {
	if err := flock(f, how, d.timeout); err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	damage := d.check(f, st)
	if damage == nil {
		return nil
	}
	if !errors.Is(damage, errNoDatabase) {
		d.warn.damage(damage)
	}
	if readOnly {
		return damage
	}
	// Everyone who reads it holds the lock, so nobody has it mapped. bbolt starts anew in an empty file.
	return f.Truncate(0)
}

func (d *database) check(f *os.File, st os.FileInfo) error {
	if st.Size() > maxBoltBytes {
		return fmt.Errorf("%w: %s has %d bytes", errBolt, f.Name(), st.Size())
	}
	b := make([]byte, st.Size())
	if n, err := f.ReadAt(b, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
		return fmt.Errorf("%w: %s: %w", errBolt, f.Name(), err)
	}
	if unfinishedBolt(b) {
		return errNoDatabase
	}
	if err := checkBolt(b); err != nil {
		return fmt.Errorf("%s: %w; starting an empty one", f.Name(), err)
	}
	return nil
}
