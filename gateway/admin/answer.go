package admin

import (
	"time"

	"github.com/mintlake/mintlake/access/keys"
)

// KeyAnswer describes a key.
type KeyAnswer struct {
	Product     string `json:"product"`
	Name        string `json:"name"`
	Environment string `json:"environment,omitempty"`
	// State is active, expired or revoked. It is configured for a key of the configuration: of such
	// a key only the product and the name are shown.
	State string `json:"state"`
	// Version is 1 for a new key, and one more after each change.
	Version      uint64      `json:"version,omitempty"`
	CreatedAt    *time.Time  `json:"created_at,omitempty"`
	CreatedBy    string      `json:"created_by,omitempty"`
	RevokedAt    *time.Time  `json:"revoked_at,omitempty"`
	RevokedBy    string      `json:"revoked_by,omitempty"`
	RevokeReason string      `json:"revoke_reason,omitempty"`
	Rules        RulesAnswer `json:"rules"`
	Secrets      []KeySecret `json:"secrets,omitempty"`
}

// KeySecret is one secret of a key, by its public prefix.
type KeySecret struct {
	Prefix   string     `json:"prefix"`
	IssuedAt *time.Time `json:"issued_at,omitempty"`
	// EndsAt is when the secret stops working, after a newer one has replaced it. It is absent for
	// the newest secret.
	EndsAt *time.Time `json:"ends_at,omitempty"`
}

// RulesAnswer are the rules of a key, in JSON.
type RulesAnswer struct {
	ExpiresAt         *time.Time `json:"expires_at,omitempty"`
	Origins           []string   `json:"origins,omitempty"`
	Addresses         []string   `json:"addresses,omitempty"`
	Methods           []string   `json:"methods,omitempty"`
	RequestsPerSecond int        `json:"requests_per_second,omitempty"`
	Streams           int        `json:"streams,omitempty"`
	StreamAddresses   int        `json:"stream_addresses,omitempty"`
}

// timeOf returns the time for JSON: in UTC, and nil for the zero time, so that it is left out.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func rulesOf(r keys.Rules) RulesAnswer {
	return RulesAnswer{timeOf(r.ExpiresAt), r.Origins, r.Addresses, r.Methods, r.RequestsPerSecond, r.Streams, r.StreamAddresses}
}

func answerOf(k *keys.Key) KeyAnswer {
	a := KeyAnswer{
		Product: string(k.Product), Name: k.ID, Environment: k.Environment, State: k.State(time.Now()), Version: k.Version,
		CreatedAt: timeOf(k.CreatedAt), CreatedBy: k.CreatedBy, RevokedAt: timeOf(k.RevokedAt), RevokedBy: k.RevokedBy, RevokeReason: k.RevokeReason,
		Rules: rulesOf(k.Rules),
	}
	for _, s := range k.Secrets {
		a.Secrets = append(a.Secrets, KeySecret{s.Prefix, timeOf(s.IssuedAt), timeOf(s.EndsAt)})
	}
	return a
}

// configuredOf describes a key of the configuration, which has no rules and no history.
func configuredOf(e keys.Entry) KeyAnswer {
	return KeyAnswer{Product: string(e.Product), Name: e.ID, State: "configured"}
}

// ChangeAnswer is one entry of the log of changes.
type ChangeAnswer struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Product string    `json:"product"`
	Name    string    `json:"name"`
	// Version is the key's version after the change. A void change did not reach it.
	Version uint64 `json:"version"`
	Change  string `json:"change"`
	// Void is true if the change had no effect, because another change of the key came first.
	Void  bool         `json:"void,omitempty"`
	Rules *RulesAnswer `json:"rules,omitempty"`
	// Prefix is the public beginning of the secret that the change made. GraceEnds is when the
	// earlier secrets stop working.
	Prefix    string     `json:"prefix,omitempty"`
	GraceEnds *time.Time `json:"grace_ends,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

func changeOf(c *keys.Change) ChangeAnswer {
	a := ChangeAnswer{
		At: c.At.UTC(), By: c.By, Product: string(c.Product), Name: c.Name, Version: c.Version, Change: c.What, Void: c.Void,
		Prefix: c.Prefix, GraceEnds: timeOf(c.GraceEnds), Reason: c.Reason,
	}
	if c.Rules != nil {
		rules := rulesOf(*c.Rules)
		a.Rules = &rules
	}
	return a
}
