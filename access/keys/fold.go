package keys

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// maxSecrets is how many secrets a key may have before those that have ended are forgotten. Until
// then, whoever presents a secret that has ended is told why it is refused.
const maxSecrets = 16

// errVoid is the error of a change that changes nothing. Such a change has a version that is not
// above the key's (another change came first, or the record was written twice), or its key does not
// exist or is revoked, or the name of a new key or the hash of a new secret is taken.
var errVoid = errors.New("void")

// ErrConflict is returned to the caller whose change was void, because another change of the key
// comes before it in the topic.
var ErrConflict = errors.New("somebody else changed the key at the same time: look at it and try again")

// fold makes keys from changes. It is pure: the same changes in the same order make the same keys
// on every node.
type fold struct {
	keys   map[string]*Key // by subject
	byHash secrets
	has    map[Product]bool // products that have a key or ever had one
}

func newFold() *fold {
	return &fold{keys: map[string]*Key{}, byHash: secrets{}, has: map[Product]bool{}}
}

// subject is the record key of a key's changes.
func subject(product Product, name string) string { return string(product) + "/" + name }

// parseChange decodes and checks a record. The error says why the record is not a change that this
// version knows.
func parseChange(value []byte) (*eventspb.KeyChange, error) {
	change := new(eventspb.KeyChange)
	if err := proto.Unmarshal(value, change); err != nil {
		return nil, fmt.Errorf("decode key change: %w", err)
	}
	if _, err := ParseProduct(change.GetProduct()); err != nil {
		return nil, fmt.Errorf("key change: %w", err)
	}
	if !validID(change.GetName()) {
		return nil, errors.New("key change: the name is not valid")
	}
	for _, secret := range [][]byte{change.GetCreated().GetSha256(), change.GetRotated().GetSha256()} {
		if secret != nil && len(secret) != len(Hash{}) {
			return nil, errors.New("key change: the hash has not 32 bytes")
		}
	}
	switch {
	case change.GetChange() == nil:
		return nil, errors.New("key change: of a kind that this version does not know")
	case change.GetCreated() != nil && change.GetCreated().GetSha256() == nil, change.GetRotated() != nil && change.GetRotated().GetSha256() == nil:
		return nil, errors.New("key change: the hash is missing")
	}
	return change, nil
}

// apply applies a change to its key. It returns errVoid if the change changes nothing.
//
// If the change's version is above the next one, a record was lost to damage on disk. The change is
// applied all the same: it is what somebody wanted last.
func (f *fold) apply(change *eventspb.KeyChange) error {
	id := subject(Product(change.GetProduct()), change.GetName())
	old := f.keys[id]
	if created := change.GetCreated(); created != nil {
		return f.create(id, old, change, created)
	}
	if old == nil || old.revoked || change.GetVersion() <= old.Version {
		return errVoid
	}
	key := *old
	key.Version = change.GetVersion()
	at := time.UnixMilli(change.GetChangedAtMs())
	switch c := change.GetChange().(type) {
	case *eventspb.KeyChange_Restricted:
		key.setRules(c.Restricted.GetRules())
	case *eventspb.KeyChange_Rotated:
		hash := Hash(c.Rotated.GetSha256())
		if _, taken := f.byHash.find(hash); taken {
			return errVoid
		}
		key.rotate(Secret{Hash: hash, Prefix: c.Rotated.GetPrefix(), IssuedAt: at}, time.UnixMilli(c.Rotated.GetGraceEndsMs()))
	case *eventspb.KeyChange_Revoked:
		key.revoked, key.RevokedAt, key.RevokedBy, key.RevokeReason = true, at, change.GetChangedBy(), c.Revoked.GetReason()
	}
	f.put(id, old, &key)
	return nil
}

// create makes a new key. It returns errVoid if a key has the name already, even a revoked one, or
// if a secret has the hash. The version is at least 1, because 0 means a configured key.
func (f *fold) create(id string, old *Key, change *eventspb.KeyChange, created *eventspb.KeyCreated) error {
	hash := Hash(created.GetSha256())
	if _, taken := f.byHash.find(hash); taken || old != nil {
		return errVoid
	}
	at := time.UnixMilli(change.GetChangedAtMs())
	key := &Key{
		ID: change.GetName(), Product: Product(change.GetProduct()), Environment: created.GetEnvironment(), Version: max(1, change.GetVersion()),
		CreatedAt: at, CreatedBy: change.GetChangedBy(), Secrets: []Secret{{Hash: hash, Prefix: created.GetPrefix(), IssuedAt: at}}, meter: &meter{},
	}
	key.setRules(created.GetRules())
	f.has[key.Product] = true
	f.put(id, nil, key)
	return nil
}

// put stores key under id, and its secrets in byHash. old is the version of the key that key
// replaces; nil if key is new. put removes secrets that only old has from byHash.
func (f *fold) put(id string, old, key *Key) {
	if old != nil {
		for _, s := range old.Secrets {
			if !slices.ContainsFunc(key.Secrets, func(kept Secret) bool { return kept.Hash == s.Hash }) {
				delete(f.byHash, s.Hash)
			}
		}
	}
	f.byHash.put(key)
	f.keys[id] = key
}

// rotate adds a secret as the newest. The others end at graceEnds, or when they would have ended
// without it if that is sooner. If the key then has more than maxSecrets, those that have ended are
// dropped.
func (k *Key) rotate(newest Secret, graceEnds time.Time) {
	secrets := []Secret{newest}
	for _, s := range k.Secrets {
		if s.EndsAt.IsZero() || graceEnds.Before(s.EndsAt) {
			s.EndsAt = graceEnds
		}
		secrets = append(secrets, s)
	}
	if len(secrets) > maxSecrets {
		secrets = slices.DeleteFunc(secrets, func(s Secret) bool { return !s.EndsAt.IsZero() && !s.EndsAt.After(newest.IssuedAt) })
	}
	k.Secrets = secrets
}

// setRules sets the rules of a record. If they cannot be enforced, because a newer version wrote
// them or they are damaged, unknown is set and the key is refused.
func (k *Key) setRules(rules *eventspb.KeyRules) {
	k.Rules = rulesOf(rules)
	c, err := compile(k.Rules)
	k.compiled = c
	k.unknown = err != nil || rules != nil && len(rules.ProtoReflect().GetUnknown()) > 0
	k.expires = rules.GetExpiresAtMs()
}

func rulesOf(in *eventspb.KeyRules) Rules {
	r := Rules{
		Origins: in.GetOrigins(), Addresses: in.GetAddresses(), Methods: in.GetMethods(),
		RequestsPerSecond: int(in.GetRequestsPerSecond()), Streams: int(in.GetStreams()), StreamAddresses: int(in.GetStreamAddresses()),
	}
	if ms := in.GetExpiresAtMs(); ms != 0 {
		r.ExpiresAt = time.UnixMilli(ms)
	}
	return r
}

// message converts the rules for a record. The rules must have been checked.
func (r Rules) message() *eventspb.KeyRules {
	out := &eventspb.KeyRules{
		Origins: r.Origins, Addresses: r.Addresses, Methods: r.Methods,
		RequestsPerSecond: uint32(r.RequestsPerSecond), Streams: uint32(r.Streams), StreamAddresses: uint32(r.StreamAddresses),
	}
	if !r.ExpiresAt.IsZero() {
		out.ExpiresAtMs = r.ExpiresAt.UnixMilli()
	}
	return out
}

// State returns the key's state at a time: active, expired or revoked.
func (k *Key) State(now time.Time) string {
	switch {
	case k.revoked:
		return "revoked"
	case k.expires != 0 && now.UnixMilli() >= k.expires:
		return "expired"
	}
	return "active"
}

// inGrace returns how many secrets still work besides the newest.
func (k *Key) inGrace(now time.Time) int {
	n := 0
	for _, s := range k.Secrets {
		if !s.EndsAt.IsZero() && now.Before(s.EndsAt) {
			n++
		}
	}
	return n
}
