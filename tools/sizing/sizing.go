package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The marks in the document around the measured costs and the computed table.
const (
	costsBegin, costsEnd = "<!-- costs -->", "<!-- end of costs -->"
	tableBegin, tableEnd = "<!-- computed: go run ./tools/sizing -write -->", "<!-- end of computed -->"
)

// What the formula assumes; the document says the same.
const (
	// busy is the share of a processor that is planned for: the rest lets a member catch up at
	// twice the rate.
	busy = 0.5
	// coresANode is how many processors a node has.
	coresANode = 2
	// shares is how many partitions a projector has at least, so that members may be added and skew
	// evens out.
	shares = 2
	// brokerMB is how many megabytes a second a broker is given to write, copies included.
	brokerMB = 50
	// copies of each record in Kafka.
	copies = 3
)

// cost is one row of the measured costs.
type cost struct {
	// rate is how often it happens in a second at once mainnet.
	rate float64
	// perMillion is what a million of them cost: processor seconds, megabytes, or MiB of memory.
	perMillion float64
}

// The rows that the formula needs, by their names in the document.
const (
	ofIngest    = "ingest: transaction"
	ofProjector = "projector: record"
	ofAPI       = "API node: record"
	ofKafka     = "Kafka: byte"
	ofMemory    = "API node's memory: token"
)

var rows = []string{ofIngest, ofProjector, ofAPI, ofKafka, ofMemory}

// parseCosts reads the rows between the marks: name, rate, cost.
func parseCosts(text string) (map[string]cost, error) {
	block, err := between(text, costsBegin, costsEnd)
	if err != nil {
		return nil, err
	}
	costs := make(map[string]cost)
	for _, line := range strings.Split(block, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		rate, rateErr := number(cells[2])
		per, perErr := number(cells[3])
		if rateErr != nil || perErr != nil {
			continue // the heading
		}
		costs[strings.TrimSpace(cells[1])] = cost{rate: rate, perMillion: per}
	}
	for _, name := range rows {
		if c, ok := costs[name]; !ok || c.rate <= 0 || c.perMillion <= 0 {
			return nil, fmt.Errorf("the costs have no row %q with two positive numbers", name)
		}
	}
	return costs, nil
}

// number reads 1,566 or 12.5.
func number(cell string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(cell), ",", ""), 64)
}

func between(text, begin, end string) (string, error) {
	_, rest, ok := strings.Cut(text, begin)
	if !ok {
		return "", fmt.Errorf("no %s", begin)
	}
	block, _, ok := strings.Cut(rest, end)
	if !ok {
		return "", errors.New("no " + end)
	}
	return block, nil
}

func replaceTable(text, table string) (string, error) {
	old, err := between(text, tableBegin, tableEnd)
	if err != nil {
		return "", err
	}
	return strings.Replace(text, tableBegin+old+tableEnd, tableBegin+"\n"+table+tableEnd, 1), nil
}

// size is what so many times mainnet need.
type size struct {
	cores                  map[string]float64
	projectors, partitions int
	kafkaMB                float64
	brokers                int
	tokensAYear, memoryGiB float64
}

// sizeOf is the formula.
func sizeOf(costs map[string]cost, times float64) size {
	s := size{cores: make(map[string]float64)}
	for _, name := range []string{ofIngest, ofProjector, ofAPI} {
		s.cores[name] = times * costs[name].rate * costs[name].perMillion / 1e6 / busy
	}
	s.projectors = max(2, int(math.Ceil(s.cores[ofProjector]/coresANode)))
	for s.partitions = 4; s.partitions < shares*s.projectors; s.partitions *= 2 {
	}
	s.kafkaMB = times * costs[ofKafka].rate / 1e6
	s.brokers = max(3, int(math.Ceil(s.kafkaMB*copies/brokerMB)))
	s.tokensAYear = times * costs[ofMemory].rate * 86_400 * 365
	s.memoryGiB = s.tokensAYear * costs[ofMemory].perMillion / 1e6 / 1024
	return s
}

// plan is the table.
func plan(costs map[string]cost) (string, error) {
	var b strings.Builder
	line := func(what string, of func(s size) string) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, times := range []float64{1, 10, 100} {
			fmt.Fprintf(&b, " %s |", of(sizeOf(costs, times)))
		}
		b.WriteString("\n")
	}
	b.WriteString("| | 1x | 10x | 100x |\n|---|---|---|---|\n")
	cores := func(name string) func(size) string {
		return func(s size) string { return strconv.FormatFloat(math.Ceil(s.cores[name]*10)/10, 'f', 1, 64) }
	}
	line("`ingest`: processors of the leader; the standby needs as many", cores(ofIngest))
	line("`projector`: processors together", cores(ofProjector))
	line("`projector`: processes", func(s size) string { return strconv.Itoa(s.projectors) })
	line("`kafka.partitions`", func(s size) string { return strconv.Itoa(s.partitions) })
	line("`api`: processors of each node for updates alone", cores(ofAPI))
	line("`api`: tokens after a year, in millions", func(s size) string { return strconv.FormatFloat(s.tokensAYear/1e6, 'f', 0, 64) })
	line("`api`: memory of each node for them, GiB", func(s size) string { return strconv.FormatFloat(math.Ceil(s.memoryGiB), 'f', 0, 64) })
	line("Kafka: MB a second, before copies", func(s size) string { return strconv.FormatFloat(s.kafkaMB, 'f', 1, 64) })
	line("Kafka: brokers", func(s size) string { return strconv.Itoa(s.brokers) })
	return b.String(), nil
}
