package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bytes are those of the input as it lies on the wire, after decompression.
func bench(b *testing.B, data []byte, parse func([]byte) error) {
	b.Helper()
	require.NoError(b, parse(data))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBlockJSON(b *testing.B) {
	data := sharedBytes(b, "data/blocks/361774429.json.gz")
	for _, encoding := range []string{"base64", "base58", "json", "jsonParsed"} {
		text := data
		if encoding != "base64" {
			text = recode(b, data, encoding)
		}
		b.Run(encoding, func(b *testing.B) {
			bench(b, text, func(data []byte) error { _, err := Reader{}.BlockJSON(data, 361774429); return err })
		})
	}
}

func BenchmarkConfirmedBlock(b *testing.B) {
	data := sharedBytes(b, "data/blocks/332254855.confirmedblock.pb")
	bench(b, data, func(data []byte) error { _, err := Reader{}.ConfirmedBlock(data, 332254855); return err })
}

func BenchmarkGeyserUpdate(b *testing.B) {
	message, _ := geyserBlock(b)
	bench(b, marshal(b, message), func(data []byte) error { _, err := Reader{}.GeyserUpdate(data); return err })
}
