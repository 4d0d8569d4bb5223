package decode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// svmFixture is a scenario that tools/svm-fixtures ran on the programs themselves.
type svmFixture struct {
	Name string `json:"-"`
	// Names are those of the scenario's keys.
	Names map[string]string `json:"names"`
	Steps []svmStep         `json:"steps"`
}

// svmStep is one transaction.
type svmStep struct {
	Name string `json:"name"`
	// Mints are the mint accounts, and Metaplex's metadata accounts, that the transaction changed,
	// as they are after it; nil for one that it closed.
	Mints map[string]*svmAccount `json:"mints"`
	// Transaction has the shape of getTransaction's result.
	Transaction json.RawMessage `json:"transaction"`
}

type svmAccount struct {
	Owner string `json:"owner"`
	Data  []byte `json:"data"`
}

const svmInterfaces = "testdata/svm/interfaces.json"

func loadSVM(t testing.TB) []svmFixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/svm/*.json")
	require.NoError(t, err)
	var fixtures []svmFixture
	for _, path := range paths {
		if path == svmInterfaces {
			continue
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		fixture := svmFixture{Name: strings.TrimSuffix(filepath.Base(path), ".json")}
		require.NoError(t, json.Unmarshal(raw, &fixture), path)
		require.NotEmpty(t, fixture.Steps, path)
		fixtures = append(fixtures, fixture)
	}
	require.NotEmpty(t, fixtures)
	return fixtures
}

// block is the step's transaction in a block of its own.
func (s *svmStep) block(t testing.TB) *chain.Block {
	t.Helper()
	blocks, err := parse.Reader{}.JSON(s.Transaction, nil)
	require.NoError(t, err, s.Name)
	require.Len(t, blocks, 1)
	require.Len(t, blocks[0].Transactions, 1)
	return blocks[0]
}

// decode returns the step's events, and what was ignored.
func (s *svmStep) decode(t testing.TB) ([]*eventspb.TokenEvent, *recorder) {
	t.Helper()
	block, seen := s.block(t), &recorder{}
	return decode.New(seen).Decode(&block.Transactions[0], block.Slot, block.BlockTime), seen
}

// TestSVMGoldens: the events of what the real programs ran. Read a change of a golden line by line
// against the programs' sources before -update makes it the truth.
func TestSVMGoldens(t *testing.T) {
	for _, fixture := range loadSVM(t) {
		t.Run(fixture.Name, func(t *testing.T) {
			var got strings.Builder
			for i := range fixture.Steps {
				step := &fixture.Steps[i]
				fmt.Fprintf(&got, "%s\n", step.Name)
				events, seen := step.decode(t)
				require.Empty(t, seen.raw, step.Name)
				for _, event := range events {
					fmt.Fprintf(&got, "  %s\n", fixture.line(t, event))
				}
				slices.Sort(seen.ignored)
				for _, ignored := range seen.ignored {
					fmt.Fprintf(&got, "  ignored: %s\n", ignored)
				}
			}
			golden := filepath.Join("testdata/svm", fixture.Name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			if !bytes.Equal(want, []byte(got.String())) {
				require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
			}
		})
	}
}

// line is an event on one line: where it stands, what it is, and its fields with the scenario's
// names for keys.
func (f *svmFixture) line(t testing.TB, event *eventspb.TokenEvent) string {
	t.Helper()
	position := event.GetPosition()
	at := fmt.Sprint(position.GetInstructionIndex())
	if position.InnerInstructionIndex != nil {
		at += fmt.Sprintf(" inner %d", position.GetInnerInstructionIndex())
	}
	if position.BatchIndex != nil {
		at += fmt.Sprintf(" batch %d", position.GetBatchIndex())
	}
	kind := schemas.KindOf(event)
	event = proto.Clone(event).(*eventspb.TokenEvent) // Clone keeps the type
	event.Position, event.Signature, event.ProgramId, event.BlockTime = nil, nil, nil, 0
	raw, err := protojson.Marshal(event)
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, raw))
	text := compact.String()
	for address, name := range f.Names {
		k := key(t, address)
		text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString(k[:]), "<"+name+">")
		text = strings.ReplaceAll(text, base58.Encode(k[:]), "<"+name+">")
	}
	return at + ": " + string(kind) + " " + text
}

// TestCreateNativeMint: the program makes the mint that the constant names.
func TestCreateNativeMint(t *testing.T) {
	var made []string
	for _, fixture := range loadSVM(t) {
		for i := range fixture.Steps {
			events, _ := fixture.Steps[i].decode(t)
			for _, event := range events {
				if event.GetInstruction() == "CreateNativeMint" {
					made = append(made, base58.Encode(event.GetMint()))
				}
			}
		}
	}
	require.Equal(t, []string{schemas.MintWrappedSOL2022}, made)
}
