package keys

import (
	"time"

	"github.com/mintlake/mintlake/access/usage"
)

// Key is an issued or configured key. It is never modified: a change makes a new Key.
type Key struct {
	// ID names the key in logs and metering, within its product.
	ID      string
	Product Product
	// Environment is a label such as live; empty for none.
	Environment string
	// Version numbers the changes of the key: 1 when the key was created, and one more with each
	// change; 0 for a configured key.
	Version uint64
	// The next five are zero for a configured key. RevokedAt, RevokedBy and RevokeReason are also
	// zero for a key that is not revoked.
	CreatedAt, RevokedAt time.Time
	CreatedBy, RevokedBy string
	RevokeReason         string
	// Secrets are the present secret and the earlier ones, the newest first.
	Secrets []Secret
	Rules   Rules

	compiled *compiled
	meter    *meter
	// expires is Rules.ExpiresAt in the form that requests are checked with.
	expires int64 // Unix milliseconds; 0: never
	revoked bool
	// unknown is true if the key has a rule that this version cannot enforce.
	unknown bool
}

// Secret is one secret of a key. Rotation gives a key another one.
type Secret struct {
	Hash Hash
	// Prefix is the secret's public beginning.
	Prefix   string
	IssuedAt time.Time
	// EndsAt is when the secret stops working because a newer one replaced it; zero for the newest.
	EndsAt time.Time
}

// Configured reports whether the key is one of the configuration: it has no rules and cannot be
// changed.
func (k *Key) Configured() bool { return k.Version == 0 }

func newConfiguredKey(e Entry) *Key {
	return &Key{ID: e.ID, Product: e.Product, Secrets: []Secret{{Hash: e.Hash}}, compiled: &compiled{}, meter: &meter{}}
}

// Store holds keys in memory: none of its methods does I/O. Many goroutines may use it at once.
type Store interface {
	// Find returns the secret with this hash and its key, whether they are still valid or not. It
	// compares hashes in constant time.
	Find(hash Hash) (Found, bool)
	// Has reports whether a product has keys, or ever had any.
	Has(product Product) bool
	// Changed returns a channel that is closed at the next change. It is nil if keys never change.
	Changed() <-chan struct{}
}

// Metered makes one store of the issued keys and the configured ones. If a hash is in both, the
// issued key counts, so that its revocation holds. Gates of the store count the usage of keys with
// meter, unless it is nil.
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

// mayIssue reports whether keys can be issued while the process runs.
func (j *joined) mayIssue() bool { return j.issued.issues.Load() }
