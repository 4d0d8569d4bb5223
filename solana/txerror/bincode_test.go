package txerror

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// every returns the bincode of each error that this version knows.
func every() (all [][]byte) {
	for i, name := range transactionErrors {
		head := binary.LittleEndian.AppendUint32(nil, uint32(i))
		switch name {
		case "InstructionError":
			for j, inner := range instructionErrors {
				one := binary.LittleEndian.AppendUint32(append(append([]byte{}, head...), 7), uint32(j))
				if inner == "Custom" {
					one = binary.LittleEndian.AppendUint32(one, 6001)
				}
				all = append(all, one)
			}
		case "DuplicateInstruction", "InsufficientFundsForRent", "ProgramExecutionTemporarilyRestricted":
			all = append(all, append(head, 9))
		default:
			all = append(all, head)
		}
	}
	return all
}

func TestBincodeIsTheInverseOfJSON(t *testing.T) {
	for _, raw := range append(every(), []byte{0xff, 0xff, 0, 0, 1}) {
		text, err := json.Marshal(JSON(raw))
		require.NoError(t, err)
		back, err := Bincode(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, raw, back, "%s", text)
	}
	for _, text := range []string{"", "null", "{}", `{"A":1,"B":2}`, `["AccountInUse"]`, "7", `"AccountInUse`, `"` + strings.Repeat("N", maxUnknown) + `"`} {
		_, err := Bincode([]byte(text))
		require.Error(t, err, text)
	}
}

// TestWhatIsNotKnownIsKept: a name without a number, and a number without a name, come back as they
// came, and never as null.
func TestWhatIsNotKnownIsKept(t *testing.T) {
	for _, text := range []string{
		`"NoSuchError"`, `{"NoSuchError":{"account_index":3}}`, `{"InstructionError":[4,"NoSuchError"]}`, `{"InstructionError":[4,{"NoSuchError":[1,null]}]}`,
		`{"InstructionError":[0]}`, `{"InstructionError":[999,{"Custom":1}]}`, `{"InstructionError":[0,{"Custom":"7"}]}`, `{"DuplicateInstruction":256}`,
	} {
		raw, err := Bincode([]byte(text))
		require.NoError(t, err, text)
		back, err := json.Marshal(JSON(raw))
		require.NoError(t, err)
		require.Equal(t, text, string(back))
	}
	for raw, want := range map[string]string{
		"\x28\x00\x00\x00": `{"bincode":"KAAAAA=="}`, "\x08\x00\x00\x00\x02\x37\x00\x00\x00": `{"bincode":"CAAAAAI3AAAA"}`,
		"\xff\xff\xff\xffnull": `{"bincode":"/////251bGw="}`, "\xff\xff\xff\xff{}": `{"bincode":"/////3t9"}`, "\xff\xff\xff\xff": `{"bincode":"/////w=="}`,
	} {
		text, err := json.Marshal(JSON([]byte(raw)))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		back, err := Bincode(text)
		require.NoError(t, err)
		require.Equal(t, raw, string(back))
	}
}

// TestNewNames: the numbers of the newest names (solana-transaction-error 4.1,
// solana-instruction-error 3.1).
func TestNewNames(t *testing.T) {
	for text, want := range map[string][]byte{
		`"ProgramCacheHitMaxLimit"`: {37, 0, 0, 0}, `"CommitCancelled"`: {38, 0, 0, 0}, `"BailOut"`: {39, 0, 0, 0},
		`{"InstructionError":[2,"BailOut"]}`: {8, 0, 0, 0, 2, 54, 0, 0, 0},
	} {
		got, err := Bincode([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// FuzzJSON: no bytes become null or nothing, and what one side wrote the other one reads.
func FuzzJSON(f *testing.F) {
	f.Add([]byte{8, 0, 0, 0, 2, 54, 0, 0, 0})
	f.Add([]byte("\xff\xff\xff\xff\"NoSuchError\""))
	f.Add([]byte("\xff\xff\xff\xff\"\xe0\""))
	f.Add([]byte(`{"InstructionError":[0,{"Custom":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := json.Marshal(JSON(data))
		require.NoError(t, err)
		require.NotEqual(t, "null", string(text))
		require.True(t, utf8.Valid(text))
		if len(text) <= maxUnknown {
			raw, err := Bincode(text)
			require.NoError(t, err, "%s", text)
			again, err := json.Marshal(JSON(raw))
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(again))
		}
		if raw, err := Bincode(data); err == nil {
			made, err := json.Marshal(JSON(raw))
			require.NoError(t, err)
			require.NotEqual(t, "null", string(made))
		}
	})
}
