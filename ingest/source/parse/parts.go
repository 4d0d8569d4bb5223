package parse

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// part encodes one piece of an instruction's data.
type part func(*encoder)

// raw encodes fixed bytes.
func raw(b ...byte) part { return func(e *encoder) { e.data = append(e.data, b...) } }

// key encodes 32 bytes. If absent is true, a missing field is encoded as zeros.
func key(name string, absent bool) part {
	return func(e *encoder) {
		s, ok := e.text(name)
		if !ok {
			if !absent {
				e.fail(malformed("without %s", name))
			}
			e.data = append(e.data, make([]byte, 32)...)
			return
		}
		k, err := decodeKey(s)
		if err != nil {
			e.fail(fmt.Errorf("%s: %w", name, err))
		}
		e.data = append(e.data, k[:]...)
	}
}

// option encodes a flag byte and, if the field is there, a key.
func option(name string) part {
	return func(e *encoder) {
		if _, ok := e.info[name]; !ok {
			e.data = append(e.data, 0)
			return
		}
		e.data = append(e.data, 1)
		key(name, false)(e)
	}
}

// amount encodes a u64, which JSON has as a string.
func amount(name string) part {
	return func(e *encoder) {
		n, err := parseAmount(e.must(name))
		if err != nil {
			e.fail(fmt.Errorf("%s: %w", name, err))
		}
		e.data = binary.LittleEndian.AppendUint64(e.data, n)
	}
}

// optionalAmount encodes a flag byte and, if the field is there, an amount.
func optionalAmount(name string) part {
	return func(e *encoder) {
		if _, ok := e.info[name]; !ok {
			e.data = append(e.data, 0)
			return
		}
		e.data = append(e.data, 1)
		amount(name)(e)
	}
}

// number encodes an unsigned integer of so many bytes, which JSON has as a number. A number that
// does not fit is an error. So is 18446744073709552000, to which JavaScript rounds the greatest u64
// (18446744073709551615).
func number(name string, bytes int) part {
	return integer(name, bytes, func(at *jsonwalk.Reader) (uint64, bool, error) {
		n, err := at.Uint64()
		return n, n<<(64-bytes*8)>>(64-bytes*8) == n, err
	})
}

// signed is like number, for a signed integer.
func signed(name string, bytes int) part {
	return integer(name, bytes, func(at *jsonwalk.Reader) (uint64, bool, error) {
		n, err := at.Int64()
		return uint64(n), n<<(64-bytes*8)>>(64-bytes*8) == n, err
	})
}

// integer encodes the lowest bytes of the number that read returns. fits is false if the number
// needs more bytes.
func integer(name string, bytes int, read func(*jsonwalk.Reader) (n uint64, fits bool, err error)) part {
	return func(e *encoder) {
		at, ok := e.info[name]
		if !ok {
			e.fail(malformed("without %s", name))
			return
		}
		n, fits, err := read(&at)
		switch {
		case err != nil:
			e.fail(fmt.Errorf("%s: %w", name, err))
		case !fits:
			e.fail(malformed("%s does not fit %d bytes", name, bytes))
		}
		e.data = append(e.data, binary.LittleEndian.AppendUint64(nil, n)[:bytes]...)
	}
}

// inBase64 encodes so many bytes, which JSON has in base64. If absent is true, a missing field is
// encoded as zeros.
func inBase64(name string, bytes int, absent bool) part {
	return func(e *encoder) {
		s, ok := e.text(name)
		if !ok && absent {
			e.data = append(e.data, make([]byte, bytes)...)
			return
		}
		data, err := base64.StdEncoding.DecodeString(string(s))
		if err != nil || len(data) != bytes {
			e.fail(malformed("%s is not %d bytes of base64", name, bytes))
		}
		e.data = append(e.data, data...)
	}
}

// tokenAmount encodes the u64 of an {amount, decimals} object and, if withDecimals, its u8.
func tokenAmount(name string, withDecimals bool) part {
	return func(e *encoder) {
		at, ok := e.info[name]
		if !ok {
			e.fail(malformed("without %s", name))
			return
		}
		f, err := gatherAll(&at)
		if err != nil {
			e.fail(err)
			return
		}
		inner := encoder{info: f}
		amount("amount")(&inner)
		if withDecimals {
			number("decimals", 1)(&inner)
		}
		if inner.err != nil {
			e.fail(fmt.Errorf("%s: %w", name, inner.err))
		}
		e.data = append(e.data, inner.data...)
	}
}

// float encodes an f64, which JSON has as a string.
func float(name string) part {
	return func(e *encoder) {
		v, err := strconv.ParseFloat(string(e.must(name)), 64)
		if err != nil {
			e.fail(malformed("%s is no number", name))
		}
		e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
	}
}

// word encodes a field's text as one byte: its index in a list of names.
func word(name string, names ...string) part {
	return func(e *encoder) {
		s := string(e.must(name))
		i := slices.Index(names, s)
		if i < 0 {
			e.fail(malformed("%s is %.40q", name, s))
		}
		e.data = append(e.data, byte(i))
	}
}

// str encodes a Borsh string: a u32 length and the bytes.
func str(name string) part {
	return func(e *encoder) {
		s := e.must(name)
		e.data = binary.LittleEndian.AppendUint32(e.data, uint32(len(s)))
		e.data = append(e.data, s...)
	}
}

// seed encodes a string of the system program: a u64 length and the bytes.
func seed(name string) part {
	return func(e *encoder) {
		s := e.must(name)
		e.data = binary.LittleEndian.AppendUint64(e.data, uint64(len(s)))
		e.data = append(e.data, s...)
	}
}

// accountList appends the accounts that a field lists.
func accountList(name string) part { return func(e *encoder) { e.accountsIn(name) } }

// metadataField encodes the metadata interface's Field: 0 to 2 for the fixed names; 3 and a string
// for others.
func metadataField(name string) part {
	return func(e *encoder) {
		if i := slices.Index([]string{"name", "symbol", "uri"}, string(e.must(name))); i >= 0 {
			e.data = append(e.data, byte(i))
			return
		}
		e.data = append(e.data, 3)
		str(name)(e)
	}
}

func boolean(name string) part {
	return func(e *encoder) {
		at := e.info[name]
		v, err := at.Bool()
		if err != nil {
			e.fail(fmt.Errorf("%s: %w", name, err))
		}
		e.data = append(e.data, 0)
		if v {
			e.data[len(e.data)-1] = 1
		}
	}
}
