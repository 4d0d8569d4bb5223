package archive

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Name is what the name of a snapshot's file says: snapshot-SLOT-HASH.tar.zst, or
// incremental-snapshot-BASE-SLOT-HASH.tar.zst.
type Name struct {
	Incremental bool
	// Base is the slot of the full snapshot that an incremental one is made over.
	Base uint64
	Slot uint64
	// Hash is the BLAKE3 hash of the lattice hash (SIMD-0220).
	Hash pubkey.Key
}

// ParseName reads the last part of a path or URL. An error says what is wrong with the name. An
// archive with such a name can be read, but not be compared with a hash in its name.
func ParseName(file string) (Name, error) {
	base := path.Base(file)
	stem, _, found := strings.Cut(base, ".tar")
	rest, incremental := strings.CutPrefix(stem, "incremental-")
	parts := strings.Split(rest, "-")
	want := 3
	if incremental {
		want = 4
	}
	if !found || parts[0] != "snapshot" || len(parts) != want {
		return Name{}, fmt.Errorf("the name %.100q is not snapshot-SLOT-HASH.tar.zst", base)
	}
	name := Name{Incremental: incremental}
	slots := []*uint64{&name.Slot}
	if incremental {
		slots = []*uint64{&name.Base, &name.Slot}
	}
	for i, slot := range slots {
		var err error
		if *slot, err = strconv.ParseUint(parts[1+i], 10, 64); err != nil {
			return Name{}, fmt.Errorf("the name %.100q has no slot: %w", base, err)
		}
	}
	var err error
	if name.Hash, err = pubkey.Parse(parts[want-1]); err != nil {
		return Name{}, fmt.Errorf("the name %.100q has no hash: %w", base, err)
	}
	return name, nil
}
