package logos

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// digest stands for a mint or a URL: 64 bits of its hash. Among six million digests, two are equal
// with a probability of one in a million. Then one token would show the image of the other.
type digest uint64

func digestOf[T string | []byte](of T) digest {
	sum := sha256.Sum256([]byte(of))
	return digest(binary.LittleEndian.Uint64(sum[:]))
}

// logo is what the records of the topic state about one mint's logo.
type logo struct {
	// content is the image that was last found good; the zero key if none was. url is the URL under
	// which it was found.
	content blobs.Key
	url     digest
	// look is the image's difference hash or, for SVG, the beginning of its content hash; 0 if
	// unknown.
	look uint64
	// since is the slot since which the mint shows this look, without another one in between; never
	// if that slot was retracted and no check has come since.
	since uint64
	// slot and check are the slot and the number of the last check, checkPurge is the latest purge
	// that it knew of.
	slot, check, checkPurge uint64
	// version is the version of the operator's last decision, and purge the time of its purge, in
	// Unix milliseconds.
	version, purge uint64
}

// never is a slot after all others.
const never = math.MaxUint64

func (l *logo) isOf(url string) bool { return l.url == digestOf(url) }

// look counts the tokens whose logos look the same.
type look struct {
	count      uint32
	first      digest // the mint that showed it first
	firstSince uint64
}

// index has all logos, in about 160 bytes each.
type index struct {
	mu    sync.RWMutex
	logos map[digest]logo
	looks map[uint64]look
}

func newIndex() *index { return &index{logos: map[digest]logo{}, looks: map[uint64]look{}} }

// of returns what is known about a mint's logo; the zero value if nothing is.
func (x *index) of(mint pubkey.Key) logo {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.logos[digestOf(mint[:])]
}

// similar returns the number of tokens whose logos look like the mint's, its own included; 0 if its
// logo is not known.
func (x *index) similar(mint pubkey.Key) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	known := x.logos[digestOf(mint[:])]
	if known.look == 0 {
		return 0
	}
	return int(x.looks[known.look].count)
}

// copied returns whether another mint showed the mint's logo before.
func (x *index) copied(mint pubkey.Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	key := digestOf(mint[:])
	known := x.logos[key]
	shown := x.looks[known.look]
	return known.look != 0 && shown.count > 1 && shown.first != key
}

func (x *index) size() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.logos)
}

// readTypes are the type headers of the records that read applies.
var readTypes = []string{"enrichment.logo", "enrichment.logo_override", "enrichment.retraction"}

// read applies a record about a logo. It ignores other records, most by their type header alone.
func (x *index) read(record *kafka.Record) {
	if kind := record.Header(schemas.HeaderType); kind != nil && !slices.Contains(readTypes, string(kind)) {
		return
	}
	enrichment := &eventspb.Enrichment{}
	if proto.Unmarshal(record.Value, enrichment) != nil || len(enrichment.GetMint()) != pubkey.Size {
		return // malformed: the projector writes a dead letter about it
	}
	x.apply(enrichment)
}

// apply records a check of a logo or a decision about it, unless a newer one is known.
func (x *index) apply(enrichment *eventspb.Enrichment) {
	key := digestOf(enrichment.GetMint())
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.logos[key]
	switch fact := enrichment.GetFact().(type) {
	case *eventspb.Enrichment_Logo:
		slot, check := enrichment.GetSlot(), fact.Logo
		if slot < known.slot || slot == known.slot && check.GetCheck() <= known.check && known.check > 0 {
			return
		}
		known.slot, known.check, known.checkPurge = slot, check.GetCheck(), check.GetPurge()
		known.content, known.url = blobs.Key{}, digestOf(check.GetUrl())
		var shown uint64
		if len(check.GetContentHash()) == len(blobs.Key{}) {
			known.content = blobs.Key(check.GetContentHash())
			shown = lookOf(check)
		}
		if shown != known.look || known.since == never {
			x.leave(key, &known)
			known.look, known.since = shown, slot
			x.join(key, &known)
		}
	case *eventspb.Enrichment_LogoOverride:
		if fact.LogoOverride.GetVersion() < known.version {
			return
		}
		known.version, known.purge = fact.LogoOverride.GetVersion(), fact.LogoOverride.GetPurge()
	case *eventspb.Enrichment_Retraction:
		// The image stays until the next check. That check counts whatever its slot is, because
		// slot and check are set to 0.
		ranges := registry.RetractedBy(enrichment)
		covers := func(slot uint64) bool {
			return slices.ContainsFunc(ranges, func(r registry.Retracted) bool { return r.HasSlot(slot) })
		}
		lastGone, sinceGone := known.check > 0 && covers(known.slot), known.look != 0 && known.since != never && covers(known.since)
		if !lastGone && !sinceGone {
			return
		}
		if lastGone {
			known.slot, known.check = 0, 0
		}
		if sinceGone {
			x.leave(key, &known)
			if known.since = never; known.check > 0 {
				known.since = known.slot
			}
			x.join(key, &known)
		}
	default:
		return
	}
	x.logos[key] = known
}

// lookOf returns the look of an image, a number that is equal for images that look the same; 0 if
// the image has none.
func lookOf(check *eventspb.Logo) uint64 {
	if check.PerceptualHash != nil {
		return check.GetPerceptualHash() | 1 // its lowest bit is set, so that it is never 0
	}
	if check.GetContentType() == "image/svg+xml" {
		// The lowest bit is 0, unlike that of all difference hashes.
		return binary.LittleEndian.Uint64(check.GetContentHash()) &^ 1
	}
	return 0 // an image of one colour: many tokens have the same without copying it
}

// join adds a mint to the count of its logo's look.
func (x *index) join(mint digest, known *logo) {
	if known.look == 0 {
		return
	}
	shown := x.looks[known.look]
	if shown.count == 0 || known.since < shown.firstSince || known.since == shown.firstSince && mint < shown.first {
		shown.first, shown.firstSince = mint, known.since
	}
	shown.count++
	x.looks[known.look] = shown
}

// leave takes a mint from the count of its logo's look.
func (x *index) leave(mint digest, known *logo) {
	if known.look == 0 {
		return
	}
	shown := x.looks[known.look]
	shown.count--
	switch {
	case shown.count == 0:
		delete(x.looks, known.look)
		return
	case shown.first == mint:
		shown = x.recount(mint, known.look)
	}
	x.looks[known.look] = shown
}

// recount counts the mints with the look wanted, except one, and finds the first mint that showed
// it. It goes through all logos, which takes long. But it is rare: the first mint must have changed
// its logo.
func (x *index) recount(without digest, wanted uint64) (shown look) {
	for mint := range x.logos {
		known := x.logos[mint]
		if known.look != wanted || mint == without {
			continue
		}
		if shown.count == 0 || known.since < shown.firstSince || known.since == shown.firstSince && mint < shown.first {
			shown.first, shown.firstSince = mint, known.since
		}
		shown.count++
	}
	return shown
}

// StatusUnknown is the X-Logo-Status of a mint that is not in the registry. For all others it is
// registry.Token.LogoStatus.
const StatusUnknown = "unknown"
