package swap

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/internal/jsonappend"
)

// send answers with a quote. Clients ask for thousands of quotes without a transaction, so such a
// quote is encoded into the response's own buffer, without reflection. A quote with a transaction
// has waited for a JSON-RPC server, which takes much longer than encoding/json.
func send(c *fiber.Ctx, out *Response) error {
	if out.Transaction != nil || out.Simulation != nil {
		return c.JSON(out)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	response := c.Response()
	response.SwapBody(out.appendJSON(response.SwapBody(nil)[:0]))
	return nil
}

// appendJSON appends a quote without its transaction, as encoding/json encodes it.
func (r *Response) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"src_mint":`...), r.SourceMint)
	dst = jsonappend.String(append(dst, `,"dst_mint":`...), r.TargetMint)
	dst = jsonappend.String(append(dst, `,"swap_mode":`...), r.SwapMode)
	dst = jsonappend.String(append(dst, `,"amount_in":`...), r.AmountIn)
	dst = jsonappend.String(append(dst, `,"max_amount_in":`...), r.MaxAmountIn)
	dst = jsonappend.String(append(dst, `,"amount_out":`...), r.AmountOut)
	dst = jsonappend.String(append(dst, `,"min_amount_out":`...), r.MinAmountOut)
	dst = strconv.AppendUint(append(dst, `,"slippage_bps":`...), r.SlippageBps, 10)
	dst = strconv.AppendUint(append(dst, `,"price_impact_bps":`...), r.PriceImpactBps, 10)
	dst = appendList(append(dst, `,"fees":`...), r.Fees, (*Fee).appendJSON)
	dst = strconv.AppendUint(append(dst, `,"fee_bps":`...), r.FeeBps, 10)
	dst = strconv.AppendUint(append(dst, `,"slot":`...), r.Slot, 10)
	dst = strconv.AppendUint(append(dst, `,"context_slot":`...), r.ContextSlot, 10)
	dst = strconv.AppendInt(append(dst, `,"state_age_ms":`...), r.StateAgeMs, 10)
	dst = jsonappend.Float(append(dst, `,"time_taken_ms":`...), &r.TimeTakenMs)
	dst = appendList(append(dst, `,"route":`...), r.Route, (*Leg).appendJSON)
	dst = appendList(append(dst, `,"routes":`...), r.Routes, (*Route).appendJSON)
	dst = appendList(append(dst, `,"residual":`...), r.Residual, (*Residual).appendJSON)
	dst = appendList(append(dst, `,"venues":`...), r.Venues, (*VenueReport).appendJSON)
	dst = jsonappend.Strings(append(dst, `,"warnings":`...), r.Warnings)
	if b := r.TransactionBytes; b != nil {
		dst = strconv.AppendInt(append(dst, `,"transaction_bytes":{"0":`...), int64(b.Zero), 10)
		dst = append(strconv.AppendInt(append(dst, `,"1":`...), int64(b.One), 10), '}')
	}
	return append(dst, '}')
}

func (f *Fee) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"kind":`...), f.Kind)
	dst = jsonappend.String(append(dst, `,"mint":`...), f.Mint)
	dst = jsonappend.String(append(dst, `,"amount":`...), f.Amount)
	return append(dst, '}')
}

func (l *Leg) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"venue":`...), l.Venue)
	dst = jsonappend.String(append(dst, `,"pool":`...), l.Pool)
	dst = jsonappend.String(append(dst, `,"src_mint":`...), l.SourceMint)
	dst = jsonappend.String(append(dst, `,"dst_mint":`...), l.TargetMint)
	dst = jsonappend.String(append(dst, `,"amount_in":`...), l.AmountIn)
	dst = jsonappend.String(append(dst, `,"amount_out":`...), l.AmountOut)
	dst = appendList(append(dst, `,"fees":`...), l.Fees, (*Fee).appendJSON)
	return append(dst, '}')
}

func (r *Route) appendJSON(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"share_bps":`...), r.ShareBps, 10)
	dst = strconv.AppendBool(append(dst, `,"one_instruction":`...), r.OneInstruction)
	dst = jsonappend.String(append(dst, `,"amount_in":`...), r.AmountIn)
	dst = jsonappend.String(append(dst, `,"amount_out":`...), r.AmountOut)
	dst = appendList(append(dst, `,"legs":`...), r.Legs, (*Leg).appendJSON)
	return append(dst, '}')
}

func (r *Residual) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"mint":`...), r.Mint)
	dst = jsonappend.String(append(dst, `,"amount_max":`...), r.AmountMax)
	return append(dst, '}')
}

func (v *VenueReport) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"venue":`...), v.Venue)
	dst = strconv.AppendInt(append(dst, `,"pools":`...), int64(v.Pools), 10)
	dst = appendList(append(dst, `,"refused":`...), v.Refused, (*PoolRefusal).appendJSON)
	dst = append(dst, `,"stopped":`...)
	if v.Stopped == nil {
		return append(dst, `null}`...)
	}
	dst = jsonappend.String(append(dst, `{"reason":`...), v.Stopped.Reason)
	dst = jsonappend.String(append(dst, `,"message":`...), v.Stopped.Message)
	return append(dst, `}}`...)
}

func (p *PoolRefusal) appendJSON(dst []byte) []byte {
	dst = jsonappend.String(append(dst, `{"pool":`...), p.Pool)
	dst = jsonappend.String(append(dst, `,"code":`...), p.Code)
	dst = jsonappend.String(append(dst, `,"reason":`...), p.Reason)
	return append(dst, '}')
}

// appendList appends an array; null if list is nil.
func appendList[T any](dst []byte, list []T, element func(*T, []byte) []byte) []byte {
	if list == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(&list[i], dst)
	}
	return append(dst, ']')
}
