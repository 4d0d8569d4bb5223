package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// DefaultGrace is how long the earlier secrets of a rotated key go on working.
	DefaultGrace = 7 * 24 * time.Hour
	// maxGrace is the longest grace period.
	maxGrace = 365 * 24 * time.Hour
	// maxInGrace bounds the earlier secrets that work at the same time.
	maxInGrace = 4
	// changePatience bounds the time until a change is in the topic and this node has read it.
	changePatience = 10 * time.Second
	// maxActor and maxReason bound texts from callers of the admin API, in bytes.
	maxActor, maxReason = 100, 300
)

// Errors of an Issuer. ErrUnknownOutcome means that writing to Kafka failed, or that this node has
// not read the change in time.
var (
	ErrInvalid        = errors.New("not valid")
	ErrNoSuchKey      = errors.New("there is no such issued key")
	ErrExists         = errors.New("the name is taken; names are never given twice, so that the log of changes stays clear")
	ErrConfigured     = errors.New("the key is one of the configuration: change it there, on every node")
	ErrRevoked        = errors.New("the key is revoked; that is for ever: create another one")
	ErrTooManySecrets = errors.New("too many earlier secrets of the key still work: wait until a grace ends, or rotate with grace 0, which ends them all")
	ErrUnknownOutcome = errors.New("it is unknown whether the change was made: look at the key before you try again")
)

// Issuer changes issued keys: it writes the change to the topic and waits until this node has read
// it. If a key gets two changes at the same time, the first one in the topic holds. The caller of
// the other one gets ErrConflict, or ErrExists from Create. Revoke tries again.
type Issuer struct {
	live       *Live
	configured map[Product]map[string]bool
	producer   kafka.RecordProducer
	now        func() time.Time
}

// NewIssuer makes an issuer, and calls live.Issues. configured are the keys of the configuration,
// whose names cannot be issued; nil for none.
func NewIssuer(live *Live, configured *Static, producer kafka.RecordProducer) *Issuer {
	i := &Issuer{live: live, producer: producer, now: time.Now, configured: map[Product]map[string]bool{}}
	for _, product := range Products() {
		i.configured[product] = map[string]bool{}
		if configured != nil {
			for _, entry := range configured.Keys(product) {
				i.configured[product][entry.ID] = true
			}
		}
	}
	live.Issues()
	return i
}

// Create makes a key. It returns the key in clear text, which is stored nowhere.
func (i *Issuer) Create(ctx context.Context, by string, product Product, name, environment string, rules Rules) (string, *Key, error) {
	if !validID(name) || name == "." || name == ".." { // no URL path could name such a key
		return "", nil, fmt.Errorf("%w: name %.100q: must be 1 to %d letters, digits, dots, dashes or underscores, and not only dots", ErrInvalid, name, maxID)
	}
	if environment != "" && !ValidEnvironment(environment) {
		return "", nil, fmt.Errorf("%w: environment %.50q: must be 1 to 16 lower-case letters and digits, like live", ErrInvalid, environment)
	}
	if err := i.checkRules(rules); err != nil {
		return "", nil, err
	}
	if i.configured[product][name] {
		return "", nil, ErrConfigured
	}
	if _, known := i.live.Key(product, name); known {
		return "", nil, ErrExists
	}
	secret, hash := GenerateFor(product, environment)
	key, err := i.change(ctx, by, product, name, &eventspb.KeyChange{Version: 1, Change: &eventspb.KeyChange_Created{Created: &eventspb.KeyCreated{
		Sha256: hash[:], Prefix: PrefixOf(secret), Environment: environment, Rules: rules.message(),
	}}})
	if errors.Is(err, ErrConflict) {
		err = ErrExists
	}
	if err != nil {
		return "", nil, err
	}
	return secret, key, nil
}

func (i *Issuer) checkRules(rules Rules) error {
	if err := rules.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if !rules.ExpiresAt.IsZero() && !rules.ExpiresAt.After(i.now()) {
		return fmt.Errorf("%w: expires_at: %s: must be in the future; to end the key now, revoke it", ErrInvalid, rules.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// Restrict changes the rules of a key. edit gets the present rules and returns the new ones, or an
// error. If the new rules are equal to the present ones, Restrict writes nothing and changed is
// false.
func (i *Issuer) Restrict(ctx context.Context, by string, product Product, name string, edit func(Rules) (Rules, error)) (key *Key, changed bool, err error) {
	key, err = i.changeable(product, name)
	if err != nil {
		return nil, false, err
	}
	rules, err := edit(key.Rules)
	if err == nil {
		err = i.checkRules(rules)
	}
	if err != nil {
		return nil, false, err
	}
	// If key.unknown is set, key.Rules lacks some rules of the key. So it cannot be compared, and
	// the change replaces all rules.
	if !key.unknown && proto.Equal(rules.message(), key.Rules.message()) {
		return key, false, nil
	}
	key, err = i.change(ctx, by, product, name, &eventspb.KeyChange{Version: key.Version + 1, Change: &eventspb.KeyChange_Restricted{
		Restricted: &eventspb.KeyRestricted{Rules: rules.message()},
	}})
	return key, err == nil, err
}

// Rotate gives a key a new secret. It returns the secret in clear text, which is stored nowhere.
// The earlier secrets work for grace, unless they end sooner; 0 ends them now.
func (i *Issuer) Rotate(ctx context.Context, by string, product Product, name string, grace time.Duration) (string, *Key, error) {
	key, err := i.changeable(product, name)
	if err != nil {
		return "", nil, err
	}
	if grace < 0 || grace > maxGrace {
		return "", nil, fmt.Errorf("%w: grace %s: must be 0 to %s", ErrInvalid, grace, maxGrace)
	}
	now := i.now()
	if grace > 0 && key.inGrace(now) >= maxInGrace {
		return "", nil, ErrTooManySecrets
	}
	secret, hash := GenerateFor(product, key.Environment)
	key, err = i.change(ctx, by, product, name, &eventspb.KeyChange{Version: key.Version + 1, Change: &eventspb.KeyChange_Rotated{
		Rotated: &eventspb.KeyRotated{Sha256: hash[:], Prefix: PrefixOf(secret), GraceEndsMs: now.Add(grace).UnixMilli()},
	}})
	if err != nil {
		return "", nil, err
	}
	return secret, key, nil
}

// Revoke ends a key with all its secrets, those in grace too, and its open streams. A key that is
// already revoked is returned as it is, and changed is false.
func (i *Issuer) Revoke(ctx context.Context, by string, product Product, name, reason string) (key *Key, changed bool, err error) {
	for {
		key, err = i.changeable(product, name)
		if errors.Is(err, ErrRevoked) {
			return key, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		key, err = i.change(ctx, by, product, name, &eventspb.KeyChange{Version: key.Version + 1, Change: &eventspb.KeyChange_Revoked{
			Revoked: &eventspb.KeyRevoked{Reason: printable(reason, maxReason)},
		}})
		// If another change of the key came first, the revocation is tried again.
		if !errors.Is(err, ErrConflict) {
			return key, err == nil, err
		}
	}
}

// changeable returns a key that may be changed, or the error that says why it may not. With
// ErrRevoked it returns the key too.
func (i *Issuer) changeable(product Product, name string) (*Key, error) {
	key, known := i.live.Key(product, name)
	switch {
	case !known && i.configured[product][name]:
		return nil, ErrConfigured
	case !known:
		return nil, ErrNoSuchKey
	case key.revoked:
		return key, ErrRevoked
	}
	return key, nil
}

// change writes a change to the topic, and waits until this node has applied it. It returns
// ErrConflict if the change was void, and ErrUnknownOutcome if writing or waiting failed.
func (i *Issuer) change(ctx context.Context, by string, product Product, name string, change *eventspb.KeyChange) (*Key, error) {
	ctx, cancel := context.WithTimeout(ctx, changePatience)
	defer cancel()
	change.Product, change.Name, change.ChangedBy = string(product), name, printable(by, maxActor)
	change.ChangedAtMs, change.Id = i.now().UnixMilli(), make([]byte, 8)
	rand.Read(change.Id) // never returns an error, by its contract
	value, err := proto.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode key change: %w", err)
	}
	done := i.live.await(change.GetId())
	defer i.live.forget(change.GetId())
	err = i.producer.Produce(ctx, kafka.Record{Topic: schemas.TopicGatewayKeys, Key: []byte(subject(product, name)), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(schemas.TypeKeyChange)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
	}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	}
	if errors.Is(err, errVoid) {
		return nil, ErrConflict
	}
	key, _ := i.live.Key(product, name)
	return key, err
}

// printable removes characters that cannot be printed, and cuts the text to most bytes.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") // the cut may split a character
	}
	return text
}
