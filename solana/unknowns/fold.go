package unknowns

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// maxSources is how many sources of one name are kept.
const maxSources = 8

// Known adds up what all processes have reported about one unknown name.
type Known struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Count uint64 `json:"count"`
	// Sources are the rooms that met it, in alphabetical order.
	Sources []string `json:"sources"`
	// FirstSeenMS and LastSeenMS are Unix milliseconds, by the clocks of the rooms.
	FirstSeenMS int64 `json:"first_seen_ms"`
	LastSeenMS  int64 `json:"last_seen_ms"`
	// FirstSlot and LastSlot are nil if no slot is known.
	FirstSlot *uint64 `json:"first_slot"`
	LastSlot  *uint64 `json:"last_slot"`
	// Sample is the first sample that was reported, cut to MaxSample. SampleBytes is its length
	// before the cut, and SamplePlace where it was met.
	Sample      []byte `json:"-"`
	SampleBytes uint64 `json:"-"`
	SamplePlace string `json:"-"`
}

// Fold adds up records of registry.unknowns.v1. The zero value is an empty Fold. It keeps as many
// names of a kind as a Book. Kinds that only newer versions write are counted as the kind Other. It
// is safe for concurrent use.
type Fold struct {
	mu    sync.Mutex
	kinds map[string]map[string]*Known
}

// Add adds the value of a record. It ignores a malformed value.
func (f *Fold) Add(value []byte) {
	message := new(eventspb.Unknown)
	if proto.Unmarshal(value, message) != nil || message.GetName() == "" {
		return
	}
	kind, name := message.GetKind(), clean(message.GetName())
	if !slices.Contains(Kinds(), Kind(kind)) {
		kind = Other
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[string]map[string]*Known{}
	}
	names := f.kinds[kind]
	if names == nil {
		names = map[string]*Known{}
		f.kinds[kind] = names
	}
	if names[name] == nil && len(names) >= MaxNames {
		name = Other
	}
	if names[name] == nil {
		names[name] = &Known{Kind: kind, Name: name, FirstSeenMS: message.GetFirstSeenMs()}
	}
	names[name].add(message)
}

func (k *Known) add(message *eventspb.Unknown) {
	k.Count += message.GetCount()
	k.FirstSeenMS, k.LastSeenMS = min(k.FirstSeenMS, message.GetFirstSeenMs()), max(k.LastSeenMS, message.GetLastSeenMs())
	if slot := message.GetFirstSlot(); slot > 0 && (k.FirstSlot == nil || slot < *k.FirstSlot) {
		k.FirstSlot = &slot
	}
	if slot := message.GetLastSlot(); slot > 0 && (k.LastSlot == nil || slot > *k.LastSlot) {
		k.LastSlot = &slot
	}
	source := clean(message.GetSource())
	if i, found := slices.BinarySearch(k.Sources, source); !found && len(k.Sources) < maxSources {
		// A new slice: copies that List returned share the old one.
		k.Sources = slices.Insert(slices.Clone(k.Sources), i, source)
	}
	if k.SampleBytes == 0 {
		k.Sample = message.GetSample()[:min(len(message.GetSample()), MaxSample)]
		k.SampleBytes, k.SamplePlace = message.GetSampleBytes(), clean(message.GetSamplePlace())
	}
}

// List returns what was seen within the retention of the topic before now, the last seen first.
func (f *Fold) List(now time.Time) []Known {
	since := now.Add(-retention()).UnixMilli()
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []Known{}
	for _, names := range f.kinds {
		for _, k := range names {
			if k.LastSeenMS >= since {
				list = append(list, *k)
			}
		}
	}
	slices.SortFunc(list, func(a, b Known) int {
		return cmp.Or(cmp.Compare(b.LastSeenMS, a.LastSeenMS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// retention is how long the topic keeps a record.
func retention() time.Duration {
	for _, topic := range schemas.Topics() {
		if topic.Name == schemas.TopicUnknowns {
			return topic.Retention
		}
	}
	return 0
}
