package cache

import (
	"bytes"
	"cmp"
	"slices"

	"go.etcd.io/bbolt"
)

// oldest names the records to drop so that at most bound remain. Where any must go, a sixteenth of
// the bound goes with them, so that it is seldom done.
func oldest(records map[Token]record, bound int) []Token {
	if len(records) <= bound {
		return nil
	}
	tokens := make([]Token, 0, len(records))
	for t := range records {
		tokens = append(tokens, t)
	}
	slices.SortFunc(tokens, func(a, b Token) int {
		return cmp.Or(cmp.Compare(records[a].saved, records[b].saved), bytes.Compare(a[:], b[:]))
	})
	return tokens[:len(tokens)-bound+bound/16]
}

// trimBucket is oldest for a bucket on disk. Entries that are none of ours go as well.
func trimBucket(b *bbolt.Bucket, bound int) error {
	records := map[Token]record{}
	var drop [][]byte
	err := b.ForEach(func(k, v []byte) error {
		r, ok := decodeRecord(v)
		if !ok || len(k) != TokenSize {
			drop = append(drop, bytes.Clone(k))
			return nil
		}
		records[Token(k)] = r
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range oldest(records, bound) {
		drop = append(drop, bytes.Clone(t[:]))
	}
	for _, k := range drop {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// dropSuperseded deletes the buckets of other builds for the device of keep, and the longest unused of
// the other devices' when there are too many.
func dropSuperseded(tx *bbolt.Tx, keep []byte) error {
	type use struct {
		name []byte
		last int64
	}
	var drop [][]byte
	var others []use
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		switch {
		case bytes.Equal(name, keep):
		case bytes.Equal(devicePrefix(name), devicePrefix(keep)):
			drop = append(drop, bytes.Clone(name))
		default:
			others = append(others, use{name: bytes.Clone(name)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(others) >= maxBuckets {
		for i := range others {
			if others[i].last, err = newest(tx.Bucket(others[i].name)); err != nil {
				return err
			}
		}
		slices.SortFunc(others, func(a, b use) int { return cmp.Compare(a.last, b.last) })
		for _, o := range others[:len(others)-maxBuckets+1] {
			drop = append(drop, o.name)
		}
	}
	for _, name := range drop {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
	}
	return nil
}

// newest is when the youngest entry of b was saved.
func newest(b *bbolt.Bucket) (last int64, err error) {
	err = b.ForEach(func(_, v []byte) error {
		if r, ok := decodeRecord(v); ok {
			last = max(last, r.saved)
		}
		return nil
	})
	return last, err
}
