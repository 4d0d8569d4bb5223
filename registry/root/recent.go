package root

// recentSize is how many mints' latest elements are remembered with their expansions, 2 KiB each: mints that trade and pools, whose supply
// changes from root to root.
const recentSize = 4096

// recent remembers the elements that were put into a hash last, each mint's at its own place. Places are made when they are needed.
type recent [recentSize]*recently

type recently struct {
	number   uint32
	element  []byte // empty where nothing is remembered
	expanded [StateSize]byte
}

func (r *recent) of(number uint32) *recently { return r[number%recentSize] }

func (r *recently) is(number uint32) bool {
	return r != nil && r.number == number && len(r.element) > 0
}

func (r *recently) forget(number uint32) {
	if r.is(number) {
		r.element = r.element[:0]
	}
}

// set remembers the element of a mint instead of what was at its place, and returns its expansion.
func (r *recent) set(number uint32, element []byte) *[StateSize]byte {
	at := &r[number%recentSize]
	if *at == nil {
		*at = new(recently)
	}
	(*at).number = number
	(*at).element = append((*at).element[:0], element...)
	expand(&(*at).expanded, element)
	return &(*at).expanded
}
