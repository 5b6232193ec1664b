package cache

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

// oldest names the records to drop so that at most bound remain. Where any must go, a sixteenth of
// the bound goes with them, so that it is seldom done.
func oldest[K comparable](records map[K]record, bound int) []K {
	if len(records) <= bound {
		return nil
	}
	keys := slices.Collect(maps.Keys(records))
	slices.SortFunc(keys, func(a, b K) int { return cmp.Compare(records[a].saved, records[b].saved) })
	return keys[:len(keys)-bound+bound/16]
}

// place is where a record lies in the database.
type place struct{ bucket, key string }

// trim drops the oldest records, whoever made them, where all identities together have more than bound; the identities that
// saved longest ago where there are more than maxBuckets, but not keep; and what is no record of ours.
func trim(tx *bbolt.Tx, keep []byte, bound int) error {
	records := map[place]record{}
	buckets := map[string]record{} // the youngest record of each
	var drop []place
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		youngest := record{}
		err := b.ForEach(func(k, v []byte) error {
			r, ok := decodeRecord(v)
			at := place{string(name), string(k)}
			if !ok || len(k) != TokenSize {
				drop = append(drop, at)
				return nil
			}
			records[at] = r
			youngest.saved = max(youngest.saved, r.saved)
			return nil
		})
		buckets[string(name)] = youngest
		return err
	})
	if err != nil {
		return err
	}
	for _, at := range append(drop, oldest(records, bound)...) {
		if err := tx.Bucket([]byte(at.bucket)).Delete([]byte(at.key)); err != nil {
			return err
		}
	}
	for name := range buckets {
		if first, _ := tx.Bucket([]byte(name)).Cursor().First(); first == nil {
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
			delete(buckets, name)
		}
	}
	for _, name := range oldest(buckets, maxBuckets) {
		if bytes.Equal([]byte(name), keep) {
			continue
		}
		if err := tx.DeleteBucket([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}
