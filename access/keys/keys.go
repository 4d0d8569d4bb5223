// Package keys makes and checks the API keys of Mintlake's metered surfaces: the swap API (product
// swap), and the JSON-RPC and streaming endpoints (product rpc).
//
// In: the key that a client presented, its address and origin; the configured keys; changes of
// issued keys on the topic gateway.keys.v1.
// Out: the id of the presented key, or a refusal with the rule; and changes, on the topic.
// Guarantees: a key is in clear text only where it is made (Generate, Issuer) and in the request
// that presents it. Everything else has its SHA-256, compares in constant time and logs neither. A
// key of one product opens no other. A change holds on every node as soon as the node has read it.
// No request waits for I/O.
//
// Static holds the configured keys, Live the issued ones (live.go folds the topic, follow.go reads
// it, issue.go writes to it). A Gate guards one surface. A Pass is one request that it has
// admitted, a Lease one open stream.
//
// A plain SHA-256 is enough, although a password would need a slow hash: a key is 256 random bits,
// which nobody can guess.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mr-tron/base58"
)

// Product is a surface, or a group of surfaces, that a key opens.
type Product string

// The products. The specification issues keys per product.
const (
	// RPC opens the JSON-RPC endpoint and the stream in both its forms.
	RPC Product = "rpc"
	// Swap opens the swap quote API.
	Swap Product = "swap"
)

// Products lists all products.
func Products() []Product { return []Product{RPC, Swap} }

// ParseProduct reads a product's name.
func ParseProduct(text string) (Product, error) {
	for _, p := range Products() {
		if text == string(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("product %q: must be rpc or swap", text)
}

const (
	// secretBytes is how many random bytes a key has.
	secretBytes = 32
	// maxPresented bounds the bytes that are hashed for a client; a real key has 50 to 70 bytes.
	maxPresented = 256
	// maxID bounds a key's id in bytes: it goes into logs and metering.
	maxID = 64
)

// Hash is the SHA-256 of a whole key, prefix included.
type Hash [sha256.Size]byte

// String returns the hash in lower-case hexadecimal, as configurations have it.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashOf hashes a key.
func HashOf(key string) Hash {
	var buf [maxPresented]byte // on the stack, whereas []byte(key) would be on the heap
	return sha256.Sum256(append(buf[:0], key...))
}

// ParseHash reads 64 hexadecimal digits.
func ParseHash(text string) (Hash, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(Hash{}) {
		return Hash{}, errors.New("must be a SHA-256 in 64 hexadecimal digits")
	}
	return Hash(raw), nil
}

// Generate makes a key of a product, "ml_rpc_…" or "ml_swap_…" with 256 random bits in base58, and
// its hash. The caller should show the key once and forget it. The prefix tells people and secret
// scanners what a leaked text is.
func Generate(product Product) (key string, hash Hash) { return GenerateFor(product, "") }

// GenerateFor is like Generate, with a label of the environment in the key, such as live or test:
// "ml_rpc_live_…". An empty environment adds no label.
func GenerateFor(product Product, environment string) (key string, hash Hash) {
	var secret [secretBytes]byte
	rand.Read(secret[:]) // never returns an error, by its contract: it ends the process instead
	key = "ml_" + string(product) + "_"
	if environment != "" {
		key += environment + "_"
	}
	key += base58.Encode(secret[:])
	return key, HashOf(key)
}

// shownSecret is how many characters of a key's random part are in its public prefix: they reveal
// 23 of its 256 bits.
const shownSecret = 4

// PrefixOf returns the beginning of a key, such as ml_rpc_live_7Hq3, by which people distinguish
// keys. It is no secret.
func PrefixOf(key string) string {
	i := strings.LastIndexByte(key, '_') + 1
	return key[:min(len(key), i+shownSecret)]
}

// ValidEnvironment reports whether text can label an environment: 1 to 16 lower-case letters and
// digits.
func ValidEnvironment(text string) bool {
	return text != "" && len(text) <= 16 && strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) < 0
}

// Entry is a key of the configuration.
type Entry struct {
	// ID names the key in logs, metrics and metering: 1 to 64 letters, digits, dots, dashes or
	// underscores, unique in its product.
	ID string
	// Product that the key opens.
	Product Product
	// Hash of the key in clear text.
	Hash Hash
}

// Static is a Store whose keys never change: those of the configuration.
type Static struct {
	byHash    secrets
	byProduct map[Product][]Entry
}

// NewStatic makes the store. It refuses an unknown product, an invalid id, an id that occurs twice
// in one product, the hash of the empty string, and a hash that occurs twice. The error joins all
// problems.
func NewStatic(entries ...Entry) (*Static, error) {
	s := &Static{byHash: secrets{}, byProduct: map[Product][]Entry{}}
	var problems []error
	for _, e := range entries {
		err := e.check(s.byProduct[e.Product])
		if other, known := s.byHash.find(e.Hash); err == nil && known {
			err = fmt.Errorf("key %q: the same hash as key %q of product %s", e.ID, other.Key.ID, other.Key.Product)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.byProduct[e.Product] = append(s.byProduct[e.Product], e)
		s.byHash.put(newConfiguredKey(e))
	}
	return s, errors.Join(problems...)
}

// check checks an entry by itself, and against known, the earlier entries of its product.
func (e Entry) check(known []Entry) error {
	if _, err := ParseProduct(string(e.Product)); err != nil {
		return fmt.Errorf("key %q: %w", e.ID, err)
	}
	if !validID(e.ID) {
		return fmt.Errorf("key %q: the name must be 1 to %d letters, digits, dots, dashes or underscores", e.ID, maxID)
	}
	if e.Hash == HashOf("") {
		return fmt.Errorf("key %q: the hash is that of the empty string", e.ID)
	}
	for _, other := range known {
		switch {
		case other.ID == e.ID:
			return fmt.Errorf("key %q: the name occurs twice in product %s", e.ID, e.Product)
		case other.Hash == e.Hash:
			return fmt.Errorf("key %q: the same hash as key %q", e.ID, other.ID)
		}
	}
	return nil
}

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}) < 0
}

// Find implements Store.
func (s *Static) Find(hash Hash) (Found, bool) {
	return s.byHash.find(hash)
}

// Has implements Store.
func (s *Static) Has(product Product) bool { return len(s.byProduct[product]) > 0 }

// Changed implements Store: the keys never change.
func (s *Static) Changed() <-chan struct{} { return nil }

// Keys lists the keys of a product.
func (s *Static) Keys(product Product) []Entry { return s.byProduct[product] }

// ParseEntries reads a product's keys as the configuration holds them: NAME:SHA256, where SHA256 is
// the hash that `mintlake keys new PRODUCT NAME` printed. The error joins all problems. It names an
// entry by its number only: either half of a wrong entry may be a key in clear text.
func ParseEntries(product Product, list []string) ([]Entry, error) {
	entries := make([]Entry, 0, len(list))
	var problems []error
	for i, text := range list {
		name, digits, found := strings.Cut(strings.TrimSpace(text), ":")
		if !found || !validID(name) {
			problems = append(problems, fmt.Errorf("%s key %d: must be NAME:SHA256", product, i+1))
			continue
		}
		hash, err := ParseHash(strings.ToLower(digits))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s key %d: %w (mintlake keys new %s NAME prints it)", product, i+1, err, product))
			continue
		}
		entries = append(entries, Entry{ID: name, Product: product, Hash: hash})
	}
	return entries, errors.Join(problems...)
}
