package jsonwalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rebuild reads a whole value through every method and gives it back as encoding/json would decode
// it (numbers as text).
func rebuild(r *Reader) (any, error) {
	switch r.Peek() {
	case '{':
		out := map[string]any{}
		err := r.Object(func(key []byte) error {
			name := string(key)
			v, err := rebuild(r)
			out[name] = v
			return err
		})
		return out, err
	case '[':
		out := []any{}
		err := r.Array(func(int) error {
			v, err := rebuild(r)
			out = append(out, v)
			return err
		})
		return out, err
	case '"':
		s, err := r.String()
		return string(s), err
	case 't', 'f':
		return r.Bool()
	case 'n':
		if !r.Null() {
			return nil, r.fail("null")
		}
		return nil, nil
	}
	s, err := r.number()
	return json.Number(s), err
}

func FuzzReadsWhatEncodingJSONReads(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\"\\\u00e9",true,false,null],"b":{}}`, `[]`, `"\\"`, `"a\\\"b"`, `{"a":1,}`, `[1 2]`, `nul`, "\"\x01\"", `{"a" : "é" }`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := New(data)
		got, err := rebuild(r)
		ends := r.End()
		raw, skipErr := New(data).Raw()
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		if json.Valid(data) && strings.Count(string(data), "[")+strings.Count(string(data), "{") < MaxDepth {
			require.NoError(t, d.Decode(&want))
			require.NoError(t, err)
			require.NoError(t, skipErr)
			require.True(t, ends)
			// invalid UTF-8 is passed through unchanged
			if !bytes.ContainsFunc(data, func(c rune) bool { return c == '\uFFFD' }) {
				require.Equal(t, want, got)
			}
			require.Equal(t, bytes.TrimSpace(data), raw)
		}
	})
}

func TestErrorsSayWhere(t *testing.T) {
	_, err := New([]byte(`  x`)).Uint64()
	require.ErrorIs(t, err, ErrSyntax)
	require.ErrorContains(t, err, "byte 2")
	_, err = New([]byte(`18446744073709551616`)).Uint64()
	require.ErrorIs(t, err, ErrSyntax)
	require.ErrorContains(t, New([]byte(`{"a":[1}`)).Skip(), "want ']'")
	require.ErrorContains(t, New([]byte(`["abc`)).Skip(), "text ends")
}

func TestDepthIsBounded(t *testing.T) {
	deep := []byte(strings.Repeat("[", 1<<20))
	require.ErrorIs(t, New(deep).Skip(), ErrSyntax)
	_, err := rebuild(New(deep))
	require.ErrorIs(t, err, ErrSyntax)
	fits := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	require.NoError(t, New([]byte(fits)).Skip())
	_, err = rebuild(New([]byte(fits)))
	require.NoError(t, err)
}

func BenchmarkSkip(b *testing.B) {
	text := []byte(fmt.Sprintf(`{"a":[%s1]}`, strings.Repeat(`{"k":"some string of usual length","n":12345},`, 10000)))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := New(text).Skip(); err != nil {
			b.Fatal(err)
		}
	}
}
