package source

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/internal/nearest"
)

// Spec is a parsed SOURCE string; see docs/sources.md.
type Spec struct {
	// Kind is one of the Kind constants.
	Kind string
	// Path is the file or folder of a file source.
	Path string
	// Speed is how fast a file source replays: 0 = as fast as it can, 1 = as fast as it was
	// recorded, 10 = ten times that.
	Speed float64
	// Endpoint is the http(s) URL of an rpc or geyser source, without Mintlake's own parameters. It
	// may contain a key.
	Endpoint string
	// From and To are the first and last slot of an rpc source; nil if not given.
	From, To *uint64
	// Commitment is confirmed or finalized; empty if not given.
	Commitment string
	// Params are the parameters of a demo source, which checks them itself.
	Params url.Values
}

// schemes are the possible beginnings of a SOURCE, for hints in errors.
var schemes = []string{KindGeyser + "+https", KindGeyser + "+http", KindRPC + "+https", KindRPC + "+http", KindFile, KindDemo, KindNone}

// ParseSpec parses a SOURCE: geyser+https://host:port, geyser+http://…,
// rpc+https://…?from=SLOT&to=SLOT, file:PATH[?speed=realtime], demo:?tps=&tokens=&seed=, none.
// Errors have one line and contain no key.
func ParseSpec(s string) (Spec, error) {
	scheme, rest, found := strings.Cut(s, ":")
	switch {
	case s == KindNone:
		return Spec{Kind: KindNone}, nil
	case s == KindDemo || scheme == KindDemo:
		return demoSpec(rest)
	case found && scheme == KindFile:
		return fileSpec(rest)
	}
	kind, web, found := strings.Cut(scheme, "+")
	if !found || kind != KindRPC && kind != KindGeyser {
		return Spec{}, fmt.Errorf("source %.20q: want geyser+https://host:port, rpc+https://host?from=SLOT&to=SLOT, file:PATH, demo: or none%s", scheme, nearest.Hint(scheme, schemes))
	}
	u, err := url.Parse(web + ":" + rest)
	if err != nil || web != "http" && web != "https" || u.Host == "" {
		return Spec{}, fmt.Errorf("source %s: want %s+http(s)://host[:port]", kind, kind)
	}
	spec := Spec{Kind: kind}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Spec{}, fmt.Errorf("source %s: unreadable parameters after '?'", kind)
	}
	if err := spec.takeParameters(query); err != nil {
		return Spec{}, err
	}
	u.RawQuery = query.Encode()
	spec.Endpoint = u.String()
	if kind == KindGeyser && (u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "") {
		return Spec{}, fmt.Errorf("source geyser: want only host and port (and ?commitment=, ?from=); the token goes into MINTLAKE_GEYSER_TOKEN")
	}
	return spec, nil
}

// maxSpeed bounds Spec.Speed. No machine can read faster.
const maxSpeed = 100_000

// fileSpec parses PATH or PATH?speed=realtime. It cuts off only this parameter, because a path may
// contain a question mark.
func fileSpec(rest string) (Spec, error) {
	spec := Spec{Kind: KindFile, Path: rest}
	if i := strings.LastIndex(rest, "?speed="); i >= 0 {
		spec.Path = rest[:i]
		switch text := rest[i+len("?speed="):]; text {
		case "full":
		case "realtime":
			spec.Speed = 1
		default:
			speed, err := strconv.ParseFloat(text, 64)
			if err != nil || !(speed > 0 && speed <= maxSpeed) {
				return Spec{}, fmt.Errorf("source file: speed is %.20q, want full, realtime, or how many times as fast, e.g. 10", text)
			}
			spec.Speed = speed
		}
	}
	if spec.Path == "" {
		return Spec{}, fmt.Errorf("source file: names no path, want file:PATH")
	}
	return spec, nil
}

func demoSpec(rest string) (Spec, error) {
	params, err := url.ParseQuery(strings.TrimPrefix(rest, "?"))
	if err != nil || rest != "" && rest[0] != '?' {
		return Spec{}, fmt.Errorf("source demo: want demo:?tps=NUMBER&tokens=NUMBER&seed=NUMBER")
	}
	return Spec{Kind: KindDemo, Params: params}, nil
}

// takeParameters removes Mintlake's own parameters from query, and sets the fields of spec to them.
// The rest of query, such as a key, belongs to the server.
func (spec *Spec) takeParameters(query url.Values) error {
	take := func(name string) (string, bool) {
		values, ok := query[name]
		query.Del(name)
		return strings.Join(values, ","), ok
	}
	if v, ok := take("commitment"); ok {
		if v != "confirmed" && v != "finalized" {
			return fmt.Errorf("source %s: commitment is %.20q, want confirmed or finalized", spec.Kind, v)
		}
		spec.Commitment = v
	}
	slots := map[string]**uint64{"from": &spec.From, "to": &spec.To}
	if spec.Kind == KindGeyser {
		delete(slots, "to") // a stream has no end
	}
	for name, to := range slots {
		v, ok := take(name)
		if !ok {
			continue
		}
		slot, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			return fmt.Errorf("source %s: %s is %.30q, want a slot number", spec.Kind, name, v)
		}
		*to = &slot
	}
	if spec.From != nil && spec.To != nil && *spec.From > *spec.To {
		return fmt.Errorf("source rpc: from %d is behind to %d", *spec.From, *spec.To)
	}
	if spec.From == nil && spec.To != nil {
		return fmt.Errorf("source rpc: to %d without from", *spec.To)
	}
	return nil
}
