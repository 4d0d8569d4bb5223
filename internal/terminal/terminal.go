// Package terminal writes text for people: tables, colours, numbers and times in human units.
//
// In: values, and text that token creators wrote. Out: lines. Guarantees: colours only on a
// terminal and without NO_COLOR; foreign text never moves the cursor, changes a colour or reverses
// the direction of writing.
package terminal

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Style is a colour or a weight of text.
type Style string

// The styles, as SGR parameters of ECMA-48.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint styles text for one writer.
type Paint struct{ on bool }

// NewPaint makes a Paint that colours if w is a terminal and NO_COLOR (no-color.org) is not set.
func NewPaint(w io.Writer) Paint {
	return Paint{IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Text returns text in a style.
func (p Paint) Text(style Style, text string) string {
	if !p.on || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Clean makes foreign text safe for one line of a terminal, and for a language model. It removes
// all characters but letters, marks, numbers, punctuation, symbols and blanks: for example escape
// sequences and direction marks. It also removes letters and marks that cannot be seen: with
// variation selectors a text can carry any bytes behind a reader's back.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r != unicode.ReplacementChar && unicode.IsGraphic(r) && !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return r
		}
		return -1
	}, text)
}

// Cut cuts text to width columns of the terminal, with … at the end.
func Cut(text string, width int) string { return runewidth.Truncate(text, width, "…") }

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Style Style
}

// Table writes rows in columns, without lines between them. A column is as wide as its widest cell.
// All columns but the last are at most Widest wide; longer text is cut.
type Table struct {
	Head []string
	// Right has the columns, from 0, that are aligned to the right, such as numbers.
	Right map[int]bool
	rows  [][]Cell
}

// Widest is how wide a column may be: a mint has 44 characters.
const Widest = 44

// Row adds a row. Its texts are cleaned.
func (t *Table) Row(cells ...Cell) {
	for i := range cells {
		if cells[i].Text = Clean(cells[i].Text); i < len(cells)-1 {
			cells[i].Text = Cut(cells[i].Text, Widest)
		}
	}
	t.rows = append(t.rows, cells)
}

// Empty reports whether there are no rows.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write writes the table. It writes nothing, not even the head, if there are no rows.
func (t *Table) Write(w io.Writer, paint Paint) error {
	if len(t.rows) == 0 {
		return nil
	}
	rows := t.rows
	if len(t.Head) > 0 {
		head := make([]Cell, len(t.Head))
		for i, text := range t.Head {
			head[i] = Cell{text, Dim}
		}
		rows = append([][]Cell{head}, rows...)
	}
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell.Text))
		}
	}
	for _, row := range rows {
		if _, err := io.WriteString(w, t.line(row, widths, paint)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) line(row []Cell, widths map[int]int, paint Paint) string {
	var line strings.Builder
	for i, cell := range row {
		space := strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell.Text))
		text := paint.Text(cell.Style, cell.Text)
		if t.Right[i] {
			line.WriteString(space + text + "  ")
		} else {
			line.WriteString(text + space + "  ")
		}
	}
	return strings.TrimRight(line.String(), " ")
}

// USD formats an amount of US dollars in short: $1.2M.
func USD(amount float64) string {
	switch size := max(amount, -amount); {
	case size >= 1e12:
		return fmt.Sprintf("$%.2fT", amount/1e12)
	case size >= 1e9:
		return fmt.Sprintf("$%.2fB", amount/1e9)
	case size >= 1e6:
		return fmt.Sprintf("$%.2fM", amount/1e6)
	case size >= 1e4:
		return fmt.Sprintf("$%.1fK", amount/1e3)
	case size >= 0.99995 || size == 0: // four digits round the rest up to 1
		return fmt.Sprintf("$%.2f", amount)
	case size < 1e-18:
		return fmt.Sprintf("$%.4g", amount)
	}
	places := 3 - int(math.Floor(math.Log10(math.Abs(amount)))) // four significant digits
	return "$" + strings.TrimRight(strconv.FormatFloat(amount, 'f', places, 64), "0")
}

// Count formats a whole number with commas between thousands.
func Count[N int | int32 | int64 | uint64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	return sign + commas(text)
}

// Bytes formats a size in its largest unit, by powers of ten: 1.2 GB.
func Bytes(n int64) string {
	size, unit := float64(n), 0
	for size >= 1000 && unit < len(byteUnits)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, byteUnits[unit])
}

var byteUnits = []string{"B", "kB", "MB", "GB", "TB"}

func commas(digits string) string {
	var out strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}

// Amount formats a raw amount in whole tokens, exactly. A text that is no number is returned
// unchanged.
func Amount(raw string, decimals int) string {
	n, ok := new(big.Int).SetString(raw, 10)
	if !ok || n.Sign() < 0 || decimals < 0 || len(raw) > 80 {
		return raw
	}
	digits := n.String()
	if decimals == 0 {
		return commas(digits)
	}
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals-len(digits)+1) + digits
	}
	whole, part := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	if part == "" {
		return commas(whole)
	}
	return commas(whole) + "." + part
}

// grouped matches a number with commas between thousands.
var grouped = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d*)?$`)

// Raw converts a decimal number of whole tokens to a raw amount, exactly. More decimals than the
// token has are an error. So is a comma that is not between thousands: much of Europe writes 1,5
// for what is 1.5 here.
func Raw(text string, decimals int) (string, error) {
	if strings.Contains(text, ",") && !grouped.MatchString(text) {
		return "", fmt.Errorf("amount is %.40q: decimals stand behind a point, as in 1.5", text)
	}
	whole, part, _ := strings.Cut(strings.ReplaceAll(text, ",", ""), ".")
	if len(text) > 80 || whole+part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return "", fmt.Errorf("amount is %.40q: must be a decimal number such as 1.5", text)
	}
	if len(part) > decimals {
		return "", fmt.Errorf("amount is %s: the token has %d decimals", text, decimals)
	}
	raw := strings.TrimLeft(whole+part+strings.Repeat("0", decimals-len(part)), "0")
	if raw == "" {
		return "", fmt.Errorf("amount is %s: must be more than 0", text)
	}
	return raw, nil
}

// Moment formats a time in epoch milliseconds, in UTC: 2026-01-01 00:00:00.
func Moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateTime) }

// Span formats a time in milliseconds: 85 ms, 12.3s, 1m5s.
func Span(ms int) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Ago formats how long ago something was, in one unit: 5 m. It counts in hours up to 47 h, then in
// days.
func Ago(then, now time.Time) string {
	age := now.Sub(then)
	switch {
	case age < 0:
		return "now"
	case age < time.Minute:
		return fmt.Sprintf("%d s", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d m", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h", int(age.Hours()))
	}
	return fmt.Sprintf("%d d", int(age.Hours()/24))
}
