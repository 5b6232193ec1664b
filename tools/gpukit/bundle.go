package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
)

// A bundle holds several programs in one file. Each program of the kit contains the driver and all kernels again, too
// far back for the window of gzip: so what an earlier one has is given by its place.
//
//	bundle  = gzip(count, count programs)            numbers are unsigned varints
//	program = length of the name, name, size, pieces that add up to the size
//	piece   = literals, as many bytes, offset, length: so many more bytes as there are at the offset into all programs so far
const (
	// block is the length of a match that is surely found if it is twice as long.
	block = 32
	// maxBundle bounds all programs together, maxName a name.
	maxBundle = 1 << 30
	maxName   = 255
)

// writeBundle packs files under their own names.
func writeBundle(to string, files []string) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := &packer{w: bufio.NewWriter(z), seed: maphash.MakeSeed(), at: map[uint64]int{}}
	w.number(len(files))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		w.number(len(name))
		w.bytes([]byte(name))
		w.program(data)
	}
	return errors.Join(w.w.Flush(), z.Close())
}

// packer writes programs; the first error of w comes from its Flush.
type packer struct {
	w    *bufio.Writer
	all  []byte // the programs so far
	seed maphash.Seed
	at   map[uint64]int // the offset of a block in all, by its hash
	done int            // how much of all is in at
}

func (p *packer) number(n int) { p.bytes(binary.AppendUvarint(nil, uint64(n))) }

func (p *packer) bytes(b []byte) { _, _ = p.w.Write(b) } // the error stays

func (p *packer) program(data []byte) {
	p.number(len(data))
	begin := len(p.all)
	p.all = append(p.all, data...)
	written, i := begin, begin
	for i+block <= len(p.all) {
		p.index(i)
		from, length := p.match(i)
		if length == 0 {
			i++
			continue
		}
		back := 0
		for i-back > max(written, from+length) && from-back > 0 && p.all[i-back-1] == p.all[from-back-1] {
			back++
		}
		p.piece(p.all[written:i-back], from-back, length+back)
		i += length
		written = i
	}
	if written < len(p.all) {
		p.piece(p.all[written:], 0, 0)
	}
}

func (p *packer) piece(literals []byte, from, length int) {
	p.number(len(literals))
	p.bytes(literals)
	p.number(from)
	p.number(length)
}

// index notes the blocks that end before i.
func (p *packer) index(i int) {
	for ; p.done+block <= i; p.done += block {
		h := maphash.Bytes(p.seed, p.all[p.done:p.done+block])
		if _, there := p.at[h]; !there {
			p.at[h] = p.done
		}
	}
}

// match finds what is at i at an earlier place, which ends before i.
func (p *packer) match(i int) (from, length int) {
	from, there := p.at[maphash.Bytes(p.seed, p.all[i:i+block])]
	if !there {
		return 0, 0
	}
	for i+length < len(p.all) && from+length < i && p.all[from+length] == p.all[i+length] {
		length++
	}
	if length < block {
		return 0, 0 // another block of the same hash
	}
	return from, length
}

// readBundle unpacks the programs into a folder.
func readBundle(path, dir string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	u := &unpacker{r: bufio.NewReader(z)}
	for range u.number(maxName) {
		name := string(u.take(u.number(maxName)))
		begin, size := len(u.all), u.number(maxBundle-len(u.all))
		for u.err == nil && len(u.all) < begin+size {
			u.piece(begin + size - len(u.all))
		}
		if u.err != nil {
			return u.err
		}
		if name == "." || name == ".." || filepath.Base(name) != name {
			return fmt.Errorf("a program called %q", name)
		}
		to := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(to+".new", u.all[begin:], 0o755), os.Rename(to+".new", to)); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, u.r) // the checksum is at the end
	return errors.Join(u.err, err)
}

// unpacker reads what a packer wrote, until the first error.
type unpacker struct {
	r   *bufio.Reader
	all []byte
	err error
}

var errBundle = errors.New("the bundle is damaged")

// number reads a number up to most; 0 after an error.
func (u *unpacker) number(most int) int {
	n, err := binary.ReadUvarint(u.r)
	if err == nil && n > uint64(most) {
		err = errBundle
	}
	if err != nil {
		u.err = errors.Join(u.err, err)
		return 0
	}
	return int(n)
}

func (u *unpacker) take(n int) []byte {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, u.r, int64(n)); err != nil {
		u.err = errors.Join(u.err, err)
	}
	return b.Bytes()
}

// piece adds a piece, of at most `most` bytes.
func (u *unpacker) piece(most int) {
	literals := u.number(most)
	u.all = append(u.all, u.take(literals)...)
	from := u.number(len(u.all))
	length := u.number(min(most-literals, len(u.all)-from))
	if literals+length == 0 {
		u.err = errors.Join(u.err, errBundle)
	}
	if u.err == nil {
		u.all = append(u.all, u.all[from:from+length]...)
	}
}
