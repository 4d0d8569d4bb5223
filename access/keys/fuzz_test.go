package keys

import (
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// What is accepted as a rule allows what it names, and nothing that merely begins or ends like it.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"https://app.example", "*.app.example", "https://*.app.example", "http://[::1]:3000", "http://localhost:3000", "203.0.113.9",
		"2001:db8::/48", "::ffff:10.0.0.0/104", "get*", "*", "getSlot", "https://é.example", "https://a:b@c", "https://x:443", "HTTPS://X", "a*b", "fe80::1%eth0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := compile(Rules{Origins: []string{text}}); err == nil {
			if !strings.Contains(text, "*") && !c.allowsOrigin(text) {
				t.Fatalf("the origin %q is accepted and does not allow itself", text)
			}
			for _, other := range []string{"", "null", text + ".evil.example", "https://evil.example", "https://evil.example/" + text} {
				if other != text && c.allowsOrigin(other) && !strings.EqualFold(other, text) {
					t.Fatalf("the origin %q allows %q", text, other)
				}
			}
			if domain, wild := strings.CutPrefix(text, "*."); wild && (!c.allowsOrigin("https://a."+domain) || c.allowsOrigin("https://"+domain)) {
				t.Fatalf("%q: subdomains, and not the domain", text)
			}
		}
		if c, err := compile(Rules{Addresses: []string{text}}); err == nil {
			prefix, ok := parseAddress(text)
			if !ok || !c.allowsAddress(prefix.Addr()) {
				t.Fatalf("the address %q does not allow itself", text)
			}
			if c.allowsAddress(netip.Addr{}) {
				t.Fatalf("the address %q allows an unknown one", text)
			}
		}
		if c, err := compile(Rules{Methods: []string{text}}); err == nil {
			if name := strings.TrimSuffix(text, "*"); !c.allowsMethod(name) || text != "*" && c.allowsMethod("\x00") {
				t.Fatalf("the method %q", text)
			}
		}
	})
}

// A record of the topic never breaks the fold, and a revoked key stays revoked.
func FuzzChange(f *testing.F) {
	hash := HashOf("k")
	for _, change := range []*eventspb.KeyChange{
		{Product: "rpc", Name: "a", Version: 1, Change: &eventspb.KeyChange_Created{Created: &eventspb.KeyCreated{Sha256: hash[:], Rules: Rules{Streams: 1}.message()}}},
		{Product: "rpc", Name: "r", Version: 3, Change: &eventspb.KeyChange_Rotated{Rotated: &eventspb.KeyRotated{Sha256: hash[:], GraceEndsMs: 5}}},
		{Product: "rpc", Name: "r", Version: 9, Change: &eventspb.KeyChange_Restricted{Restricted: &eventspb.KeyRestricted{}}},
		{Product: "rpc", Name: "r", Version: 9, Change: &eventspb.KeyChange_Revoked{}},
	} {
		value, err := proto.Marshal(change)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		all := newFold()
		revoked := HashOf("revoked")
		for _, c := range []*eventspb.KeyChange{
			{Product: "rpc", Name: "r", Version: 1, Change: &eventspb.KeyChange_Created{Created: &eventspb.KeyCreated{Sha256: revoked[:]}}},
			{Product: "rpc", Name: "r", Version: 2, Change: &eventspb.KeyChange_Revoked{Revoked: &eventspb.KeyRevoked{}}},
		} {
			if err := all.apply(c); err != nil {
				t.Fatal(err)
			}
		}
		change, err := parseChange(value)
		if err != nil {
			return
		}
		_ = all.apply(change)
		if found, known := all.byHash.find(revoked); !known || !found.Key.revoked {
			t.Fatal("a revoked key came back")
		}
		for _, key := range all.keys {
			for _, s := range key.Secrets {
				if found, known := all.byHash.find(s.Hash); !known || found.Key != key {
					t.Fatal("the index and the keys differ")
				}
			}
		}
	})
}
