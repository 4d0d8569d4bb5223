package validator

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// newestVersions has the newest version of each account of a part of the spill.
type newestVersions map[pubkey.Key]version

// add adds a version. It calls older with the version of the account that is not the newest.
func (n newestVersions) add(e *entry, older func(version)) {
	known, ok := n[e.address]
	if ok && known > e.version {
		older(e.version)
		return
	}
	if ok {
		older(known)
	}
	n[e.address] = e.version
}

// live counts the accounts that exist, which means that their newest version has lamports.
func (n newestVersions) live() (count int64) {
	for _, v := range n {
		if !v.empty() {
			count++
		}
	}
	return count
}

// compare compares the versions of each account, and calls older with each version that a newer one
// replaces. It returns how many accounts exist. It calls progress now and then with the number of
// entries that it has compared. Everything must be flushed.
func (s *spill) compare(ctx context.Context, older func(version), progress func(done int64)) (live int64, err error) {
	newest, done := newestVersions{}, int64(0)
	raw := make([]byte, s.entriesOfBlock*entryBytes)
	for i := range s.parts {
		progress(done)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		clear(newest)
		for _, block := range s.parts[i].blocks {
			raw = raw[:block.entries*entryBytes]
			if _, err := s.file.ReadAt(raw, block.offset); err != nil {
				return 0, fmt.Errorf("read the spill of accounts: %w", err)
			}
			for rest := raw; len(rest) > 0; rest = rest[entryBytes:] {
				e := decodeEntry(rest)
				newest.add(&e, older)
			}
			done += int64(block.entries)
		}
		live += newest.live()
	}
	return live, nil
}
