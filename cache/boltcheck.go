package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// bbolt trusts the pages of its file: a damaged one sends it out of its mapping, into endless recursion or
// into allocating whatever a count says, none of which a program survives. checkBolt therefore walks the
// file first, in a private copy, and lets through only what bbolt can follow safely. Layout: bbolt 1.5,
// internal/common (page.go, meta.go, bucket.go); all integers in the machine's byte order.

// boltPageSize is fixed so that a file means the same on machines with other pages.
const boltPageSize = 4096

const (
	boltMagic   = 0xED0CDAED // common.Magic
	boltVersion = 2          // common.Version

	boltHeader    = 16 // id u64, flags u16, count u16, overflow u32
	boltElement   = 16 // leaf: flags, pos, ksize, vsize u32; branch: pos, ksize u32, page u64
	boltInBucket  = 16 // root u64, sequence u64
	boltMetaBytes = 56 // what the meta's checksum covers

	boltBucket = 1 // common.BucketLeafFlag, in an element's flags

	boltBranch   = 0x01
	boltMetaPage = 0x04
	boltLeaf     = 0x02
	boltFreelist = 0x10

	boltFirstData = 2  // pages 0 and 1 are the metas
	boltMaxDepth  = 32 // far above what maxBoltBytes can need
)

var errBolt = errors.New("damaged database")

type boltFile struct {
	b     []byte
	pages uint64 // pages in use; every page below is inside b
	used  []bool
}

// checkBolt reports whether bbolt can open, read and write the file whose content is b, and whether it has
// the shape of ours: buckets at the top and plain values in them.
func checkBolt(b []byte) error {
	root, freelist, pages, err := boltMeta(b)
	if err != nil {
		return err
	}
	if pages > uint64(len(b))/boltPageSize {
		return fmt.Errorf("%w: cut off", errBolt)
	}
	f := &boltFile{b: b, pages: pages, used: make([]bool, pages)}
	if err := f.tree(root, 0, true, span{}); err != nil {
		return err
	}
	return f.freelist(freelist)
}

// boltMeta gives what the newer valid meta page says, which is the one that bbolt follows.
func boltMeta(b []byte) (root, freelist, pages uint64, err error) {
	var newest uint64
	found := false
	for i := range 2 {
		if len(b) < (i+1)*boltPageSize {
			break
		}
		m := b[i*boltPageSize+boltHeader:]
		ne := binary.NativeEndian
		sum := fnv.New64a()
		sum.Write(m[:boltMetaBytes])
		if ne.Uint32(m) != boltMagic || ne.Uint32(m[4:]) != boltVersion || ne.Uint64(m[boltMetaBytes:]) != sum.Sum64() {
			continue
		}
		if ne.Uint32(m[8:]) != boltPageSize {
			return 0, 0, 0, fmt.Errorf("%w: other page size", errBolt)
		}
		if txid := ne.Uint64(m[48:]); !found || txid > newest {
			found, newest = true, txid
			root, freelist, pages = ne.Uint64(m[16:]), ne.Uint64(m[32:]), ne.Uint64(m[40:])
		}
	}
	if !found {
		return 0, 0, 0, fmt.Errorf("%w: no valid meta page", errBolt)
	}
	return root, freelist, pages, nil
}

// page gives page id with its overflow pages and marks them used; no page may be reached twice.
func (f *boltFile) page(id uint64) ([]byte, error) {
	if id < boltFirstData || id >= f.pages {
		return nil, fmt.Errorf("%w: page %d of %d", errBolt, id, f.pages)
	}
	p := f.b[id*boltPageSize:]
	n := 1 + uint64(binary.NativeEndian.Uint32(p[12:]))
	if binary.NativeEndian.Uint64(p) != id || n > f.pages-id {
		return nil, fmt.Errorf("%w: header of page %d", errBolt, id)
	}
	for i := id; i < id+n; i++ {
		if f.used[i] {
			return nil, fmt.Errorf("%w: page %d used twice", errBolt, i)
		}
		f.used[i] = true
	}
	return p[:n*boltPageSize], nil
}

// span is what the branch above a page says of its keys: the first one, and one that all are less than; nil where nothing
// says so. bbolt finds pages again by such keys when it changes a tree, and frees one twice where they are wrong.
type span struct{ first, limit []byte }

// tree checks what is below page id; top says that it is the tree of buckets.
func (f *boltFile) tree(id uint64, depth int, top bool, in span) error {
	if depth > boltMaxDepth {
		return fmt.Errorf("%w: too deep", errBolt)
	}
	p, err := f.page(id)
	if err != nil {
		return err
	}
	switch binary.NativeEndian.Uint16(p[8:]) {
	case boltLeaf:
		return f.leaf(p, top, in)
	case boltBranch:
		return f.branch(p, depth, top, in)
	}
	return fmt.Errorf("%w: kind of page %d", errBolt, id)
}

// elements calls fn for each element of page p with its fields and its key; keys must ascend within in.
func elements(p []byte, posAt int, in span, fn func(elem, key, rest []byte) error) error {
	count := int(binary.NativeEndian.Uint16(p[10:]))
	if boltHeader+count*boltElement > len(p) || count == 0 && in.first != nil {
		return fmt.Errorf("%w: %d elements", errBolt, count)
	}
	var last []byte
	for i := range count {
		at := boltHeader + i*boltElement
		elem := p[at : at+boltElement]
		pos := uint64(at) + uint64(binary.NativeEndian.Uint32(elem[posAt:]))
		ksize := uint64(binary.NativeEndian.Uint32(elem[posAt+4:]))
		if ksize == 0 || pos > uint64(len(p)) || ksize > uint64(len(p))-pos {
			return fmt.Errorf("%w: key outside its page", errBolt)
		}
		key := p[pos : pos+ksize]
		if i > 0 && bytes.Compare(last, key) >= 0 || i == 0 && in.first != nil && !bytes.Equal(key, in.first) ||
			in.limit != nil && bytes.Compare(key, in.limit) >= 0 {
			return fmt.Errorf("%w: keys out of order", errBolt)
		}
		last = key
		if err := fn(elem, key, p[pos+ksize:]); err != nil {
			return err
		}
	}
	return nil
}

func (f *boltFile) branch(p []byte, depth int, top bool, in span) error {
	var keys [][]byte
	var pages []uint64
	err := elements(p, 0, in, func(elem, key, _ []byte) error {
		keys, pages = append(keys, key), append(pages, binary.NativeEndian.Uint64(elem[8:]))
		return nil
	})
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("%w: branch without children", errBolt)
	}
	for i, page := range pages {
		child := span{keys[i], in.limit}
		if i+1 < len(keys) {
			child.limit = keys[i+1]
		}
		if err := f.tree(page, depth+1, top, child); err != nil {
			return err
		}
	}
	return nil
}

func (f *boltFile) leaf(p []byte, top bool, in span) error {
	return elements(p, 4, in, func(elem, _, rest []byte) error {
		vsize := uint64(binary.NativeEndian.Uint32(elem[12:]))
		if vsize > uint64(len(rest)) {
			return fmt.Errorf("%w: value outside its page", errBolt)
		}
		flags := binary.NativeEndian.Uint32(elem)
		if !top && flags == 0 {
			return nil
		}
		value := rest[:vsize]
		if !top || flags != boltBucket || vsize < boltInBucket {
			return fmt.Errorf("%w: kind of an element", errBolt)
		}
		if root := binary.NativeEndian.Uint64(value); root != 0 {
			return f.tree(root, 0, false, span{})
		}
		inline := value[boltInBucket:]
		if len(inline) < boltHeader || binary.NativeEndian.Uint16(inline[8:]) != boltLeaf {
			return fmt.Errorf("%w: inline bucket", errBolt)
		}
		return f.leaf(inline, false, span{})
	})
}

// freelist checks that no page that is in use counts as free: bbolt would overwrite it.
func (f *boltFile) freelist(id uint64) error {
	p, err := f.page(id)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(p[8:]) != boltFreelist {
		return fmt.Errorf("%w: kind of the free list", errBolt)
	}
	ids := p[boltHeader:]
	count := uint64(binary.NativeEndian.Uint16(p[10:]))
	// From common.Page.FreelistPageCount: 0xFFFF means that the first id is the count.
	if count == 0xFFFF {
		count = binary.NativeEndian.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("%w: length of the free list", errBolt)
	}
	for i := range count {
		page := binary.NativeEndian.Uint64(ids[8*i:])
		if page < boltFirstData || page >= f.pages || f.used[page] {
			return fmt.Errorf("%w: free page %d", errBolt, page)
		}
		f.used[page] = true
	}
	return nil
}

// newBolt is what bbolt writes into an empty file, in one write (DB.init).
func newBolt() []byte {
	ne := binary.NativeEndian
	b := make([]byte, 4*boltPageSize)
	for page, kind := range []uint16{boltMetaPage, boltMetaPage, boltFreelist, boltLeaf} {
		p := b[page*boltPageSize:]
		ne.PutUint64(p, uint64(page))
		ne.PutUint16(p[8:], kind)
		if kind != boltMetaPage {
			continue
		}
		m := p[boltHeader:]
		ne.PutUint32(m, boltMagic)
		ne.PutUint32(m[4:], boltVersion)
		ne.PutUint32(m[8:], boltPageSize)
		ne.PutUint64(m[16:], 3) // root
		ne.PutUint64(m[32:], 2) // free list
		ne.PutUint64(m[40:], 4) // pages
		ne.PutUint64(m[48:], uint64(page))
		sum := fnv.New64a()
		sum.Write(m[:boltMetaBytes])
		ne.PutUint64(m[boltMetaBytes:], sum.Sum64())
	}
	return b
}

// unfinishedBolt reports whether b is a database whose creation was cut short, by a kill or a full disk:
// nothing has been lost then.
func unfinishedBolt(b []byte) bool {
	return len(b) < 4*boltPageSize && bytes.HasPrefix(newBolt(), b)
}
