// Package unknowns counts what this version does not know of the chain and of its upstreams.
//
// In: calls of Note from all readers of a process. Out: a counter by kind, a log line for each new
// name, and records of registry.unknowns.v1, which Fold adds up for GET /status and `mintlake
// unknowns`. Guarantees: memory is bounded, whatever the input is: a fixed set of kinds, 64 names
// and "other" of each, one sample of a name. Metric labels come from the fixed set. All methods are
// safe for concurrent use, and a nil *Book takes and drops everything.
package unknowns

import (
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// Kind is what sort of thing is unknown. The values are metric labels.
type Kind string

// The kinds.
const (
	// TransactionVersion is a version of transactions above txwire.Highest. The name is the number.
	TransactionVersion Kind = "transaction_version"
	// ProtobufField is a field that the generated code lacks. The name is MESSAGE.NUMBER.
	ProtobufField Kind = "protobuf_field"
	// TokenExtension is a Token-2022 extension of a mint whose type or length is unknown. The name
	// is that of the extension, unknown_N for a type without a name.
	TokenExtension Kind = "token_extension"
	// Instruction is an instruction of a token program or Metaplex that became a raw event. The
	// name is the program's label, the instruction's number, and the reason unless that is "unknown
	// instruction".
	Instruction Kind = "instruction"
	// RewardType is a reward type of a block. The name is the number or the text.
	RewardType Kind = "reward_type"
	// SlotStatus is a status of a slot. The name is the number.
	SlotStatus Kind = "slot_status"
	// RPCErrorCode is an error code of a JSON-RPC server that nodes do not document. The name is
	// the code.
	RPCErrorCode Kind = "rpc_error_code"
	// ProgramChange is a new build of a program that is decoded. The name is the program's address.
	ProgramChange Kind = "program_change"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{TransactionVersion, ProtobufField, TokenExtension, Instruction, RewardType, SlotStatus, RPCErrorCode, ProgramChange}
}

const (
	// MaxNames is how many names of a kind are kept. What comes after them is counted as Other.
	MaxNames = 64
	// MaxName is the most bytes of a name, and of a sample's place.
	MaxName = 120
	// MaxSample is the most bytes that are kept of a sample: as many as a transaction of version 1
	// may have.
	MaxSample = 4096
	// Other is the name under which further names of a kind are counted once MaxNames are kept.
	Other = "other"
)

// Sighting says where something unknown was met.
type Sighting struct {
	// Source is the room or the reader.
	Source string
	// Slot is 0 if it is not known.
	Slot uint64
	// Place is, for example, a signature, an account or a method. It may be empty.
	Place string
	// Sample are the bytes that were not understood. Note copies what it keeps.
	Sample []byte
}

// Book counts the unknowns of one process.
type Book struct {
	log     *slog.Logger
	counter *prometheus.CounterVec
	now     func() time.Time

	kinds map[Kind]map[string]*entry // by kind and name; the outer map never changes after New
	mu    sync.Mutex                 // guards the inner maps and their entries
}

// entry is what the book has of one name.
type entry struct {
	kind                Kind
	name                string
	first               Sighting // its Sample is cut to MaxSample
	sampleBytes         int      // of the sample before the cut
	firstSeen, lastSeen time.Time
	lastSlot            uint64
	count               uint64
	// told is how much of count was written to Kafka, and toldAt when.
	told   uint64
	toldAt time.Time
}

// New returns an empty book and registers its counter. Both arguments may be nil.
func New(log *slog.Logger, registerer prometheus.Registerer) (*Book, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Book{log: log, now: time.Now, kinds: map[Kind]map[string]*entry{}, counter: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_unknowns_total", Help: "What the readers of this process met and do not know, by kind; /status and `mintlake unknowns` have the names.",
	}, []string{"kind"})}
	names := make([]string, 0, len(Kinds()))
	for _, kind := range Kinds() {
		b.kinds[kind] = map[string]*entry{}
		names = append(names, string(kind))
	}
	counters.Preset(b.counter, names)
	return b, counters.Register(registerer, b.counter)
}

// Note counts something unknown, and keeps the first sample of each name. It ignores a kind that is
// not in Kinds.
func (b *Book) Note(kind Kind, name string, at Sighting) {
	if b == nil || b.kinds[kind] == nil {
		return
	}
	b.counter.WithLabelValues(string(kind)).Inc()
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.kinds[kind]
	e := names[name]
	if e == nil {
		e = b.enter(names, kind, name, at)
	}
	e.count++
	e.lastSeen, e.lastSlot = b.now(), max(e.lastSlot, at.Slot)
}

// enter returns the entry for a name that has none as it is written. It cleans the name, takes
// Other in its place if MaxNames are kept already, and makes an entry if there is still none. The
// caller holds mu.
func (b *Book) enter(names map[string]*entry, kind Kind, name string, at Sighting) *entry {
	if name = clean(name); len(names) >= MaxNames && names[name] == nil {
		name = Other
	}
	if e := names[name]; e != nil {
		return e
	}
	e := &entry{kind: kind, name: name, first: at, sampleBytes: len(at.Sample), firstSeen: b.now()}
	e.first.Place = clean(at.Place)
	e.first.Sample = append([]byte(nil), at.Sample[:min(len(at.Sample), MaxSample)]...)
	names[name] = e
	b.log.Warn("something unknown was met: `mintlake unknowns` shows it", "kind", kind, "name", name, "source", at.Source, "slot", at.Slot)
	return e
}

// clean returns at most MaxName bytes of a text from outside, with a ? for what is not printable.
func clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), MaxName)], "?")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
