package sizing

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/terminal"
	"github.com/mintlake/mintlake/internal/testkit"
)

// row is a row of the first two tables of docs/sizing.md: names, unit, how many a day, bytes.
var row = regexp.MustCompile("(?m)^\\| ((?:index )?`[^|]+) \\| ([a-z ]+) \\| ([0-9,]+) \\| ([^|]+) \\|")

// TestTheDocumentHasTheseFigures: a figure that is changed in one place only is found.
func TestTheDocumentHasTheseFigures(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "sizing.md"))
	require.NoError(t, err)
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(text)[0], ",", ""), 64)
		require.NoError(t, err, text)
		return n
	}
	byDefault, _, cut := strings.Cut(string(text), "\n### With balances\n")
	require.True(t, cut, "what balances add stands behind what is on by default")
	told, rates := map[string]Store{}, Mainnet()
	for _, cells := range row.FindAllStringSubmatch(byDefault, -1) {
		bytes, later, _ := strings.Cut(cells[4], "; ")
		sizes := strings.Split(bytes, ", ")
		require.Equal(t, rates[Unit(cells[2])], number(cells[3]), cells[0])
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1)
		if strings.HasPrefix(cells[1], "index") {
			names = names[:1]
		}
		for i, name := range names {
			s := Store{Name: name[1], Grows: Unit(cells[2]), Bytes: number(sizes[i]), Days: KeptDays(name[1])}
			if later != "" {
				s.Later = number(later)
			}
			told[s.Name] = s
		}
	}
	code := map[string]Store{}
	for _, s := range append(Topics(), Tables()...) {
		code[s.Name] = s
	}
	require.Equal(t, code, told)
	daily := fmt.Sprintf("| **all** | | | | **%.1f**", After(Tables(), 1, rates)/1e9)
	require.Contains(t, string(text), daily)
	require.Contains(t, string(text), fmt.Sprintf("| **all** | | | | **%.1f** |", After(Topics(), 0.25, rates)*4/1e9))
}

func TestRetentionsEndAndSignaturesGo(t *testing.T) {
	rates := Rates{Leg: 10, Slot: 1}
	require.InDelta(t, 6*50, Store{Grows: Leg, Bytes: 5, Days: 6}.After(365, rates), 1e-9)
	require.InDelta(t, 30*10*5+10*10*2, Store{Grows: Leg, Bytes: 5, Later: 2}.After(40, rates), 1e-9)
	require.InDelta(t, 365*216, Store{Grows: Slot, Bytes: 216}.After(365, rates), 1e-9)
}

// TestThePageOfMainnetHasTheseFigures: docs/mainnet.md tells the disk after some days.
func TestThePageOfMainnetHasTheseFigures(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "mainnet.md"))
	require.NoError(t, err)
	for days, name := range map[float64]string{7: "a week", 30: "30 days", 365: "a year"} {
		kafka, tables := After(Topics(), days, Mainnet())/1e9, After(Tables(), days, Mainnet())/1e9
		row := fmt.Sprintf("| disk after %s | %s GB for Kafka, %s GB for ClickHouse |", name, terminal.Count(int64(kafka+0.5)), terminal.Count(int64(tables+0.5)))
		require.True(t, strings.Contains(string(text), row), row)
	}
}
