package swap

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mintlake/mintlake/solana"
)

// Simulation is what a JSON-RPC server says the transaction would do.
type Simulation struct {
	Slot uint64 `json:"slot"`
	// Err is the error in the form that the chain gives it; null if the transaction would succeed.
	Err           json.RawMessage `json:"err"`
	UnitsConsumed uint64          `json:"units_consumed"`
	Logs          []string        `json:"logs"`
}

// Bounds of a simulation: a quote does not wait long for it, and repeats only a part of its logs.
const (
	simulationTimeout = 2 * time.Second
	maxSimulationErr  = 1 << 10 // bytes
	maxLogs           = 100     // lines
	maxLog            = 512     // bytes of a line
)

// simulate asks the JSON-RPC server for a simulation. It returns nil if the server does not answer
// with one.
func (s *Server) simulate(ctx context.Context, transaction string) *Simulation {
	ctx, cancel := context.WithTimeout(ctx, simulationTimeout)
	defer cancel()
	var result struct {
		Context struct{ Slot uint64 }
		Value   struct {
			Err           json.RawMessage
			Logs          []string
			UnitsConsumed uint64
		}
	}
	options := map[string]any{"encoding": "base64", "sigVerify": false, "commitment": solana.Processed}
	if err := s.deps.RPC.Call(ctx, "simulateTransaction", []any{transaction, options}, &result); err != nil {
		s.deps.Logger.Debug("no simulation", "err", err)
		return nil
	}
	out := &Simulation{Slot: result.Context.Slot, Err: result.Value.Err, UnitsConsumed: result.Value.UnitsConsumed, Logs: []string{}}
	if len(out.Err) == 0 || len(out.Err) > maxSimulationErr {
		out.Err = json.RawMessage("null")
		if len(result.Value.Err) > maxSimulationErr {
			out.Err = json.RawMessage(`"the error is too long"`)
		}
	}
	for _, line := range result.Value.Logs[:min(len(result.Value.Logs), maxLogs)] {
		out.Logs = append(out.Logs, line[:min(len(line), maxLog)])
	}
	return out
}
