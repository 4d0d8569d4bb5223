package keys

import (
	"time"

	"github.com/mintlake/mintlake/internal/usage"
)

// Key is an issued or configured key. It is never modified: a change makes a new Key.
type Key struct {
	// ID names the key in logs and metering, within its product.
	ID      string
	Product Product
	// Environment is a label such as live; empty for none.
	Environment string
	// Version is how many changes the key has; 0 for a configured key.
	Version uint64
	// CreatedAt, CreatedBy, RevokedAt and RevokedBy tell when and by whom; zero for a configured
	// key, or one that is not revoked.
	CreatedAt, RevokedAt time.Time
	CreatedBy, RevokedBy string
	RevokeReason         string
	// Secrets are what opens, or opened, with this key: the newest first.
	Secrets []Secret
	Rules   Rules

	compiled *compiled
	meter    *meter
	// expires and revoked are what every request looks at.
	expires int64 // Unix milliseconds; 0: never
	revoked bool
	// unknown says that the key has a rule that this version cannot enforce.
	unknown bool
}

// Secret is one secret of a key. Rotation gives a key a second one.
type Secret struct {
	Hash Hash
	// Prefix is the secret's public beginning.
	Prefix   string
	IssuedAt time.Time
	// EndsAt is when it stops to work because a newer one took its place; zero for the newest.
	EndsAt time.Time
}

// Configured says that the key is of the configuration: it has no rules and cannot be changed.
func (k *Key) Configured() bool { return k.Version == 0 }

func newConfiguredKey(e Entry) *Key {
	return &Key{ID: e.ID, Product: e.Product, Secrets: []Secret{{Hash: e.Hash}}, compiled: &compiled{}, meter: &meter{}}
}

// Store knows keys. Safe for concurrent use. None of its methods does I/O: a store that learns of
// keys by events keeps them in memory.
type Store interface {
	// Find returns what has this hash, whether it is still valid or not: one map look-up, then one
	// comparison in constant time.
	Find(hash Hash) (Found, bool)
	// Has says whether there are keys of a product, or were any.
	Has(product Product) bool
	// Changed is closed at the next change. Nil: nothing ever changes.
	Changed() <-chan struct{}
}

// Join makes one store of the issued keys and the configured ones. A key that is in both is the
// issued one, so that its revocation holds.
func Join(issued *Live, configured *Static) Store { return Metered(issued, configured, nil) }

// Metered is Join; gates of the store count what keys use with meter.
func Metered(issued *Live, configured *Static, meter *usage.Meter) Store {
	return &joined{issued, configured, meter}
}

type joined struct {
	issued     *Live
	configured *Static
	meter      *usage.Meter
}

func (j *joined) Find(hash Hash) (Found, bool) {
	if found, known := j.issued.Find(hash); known {
		return found, true
	}
	return j.configured.Find(hash)
}

func (j *joined) Has(product Product) bool { return j.issued.Has(product) || j.configured.Has(product) }

func (j *joined) Changed() <-chan struct{} { return j.issued.Changed() }

func (j *joined) usageMeter() *usage.Meter { return j.meter }

// mayIssue says that keys can be made while the process runs.
func (j *joined) mayIssue() bool { return j.issued.issues.Load() }

// find hashes what was presented and looks it up.
func find(store Store, presented string) (Found, bool) {
	if len(presented) > maxPresented {
		return Found{}, false
	}
	return store.Find(HashOf(presented))
}
