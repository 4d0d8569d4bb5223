// What was traded on each venue in 24 hours.
import type { Venues } from "../api";
import { absolute, count, usd, venueName } from "../format";
import { useGet, useTitle } from "../hooks";
import { Problem, Usd } from "../parts/small";

export function VolumePage() {
  const { data, error } = useGet<Venues>("/venues", 30_000);
  useTitle("Volume by venue");
  const total = data?.venues.reduce((sum, venue) => sum + venue.volume_usd, 0) ?? 0;
  const largest = Math.max(0, ...(data?.venues ?? []).map((venue) => venue.volume_usd)) || 1; // the longest bar; a maximum of 0 is none
  return (
    <>
      <div class="title">
        <h1>Volume by venue</h1>
        {data?.as_of != null && <span class="live" title={`24 hours of block time up to ${absolute(data.as_of)}`}>24 h</span>}
      </div>
      {error && <Problem>{error}</Problem>}
      {data && data.venues.length === 0 && <p class="empty">Nothing was traded yet.</p>}
      {data && data.venues.length > 0 && (
        <section class="card">
          <p class="price">
            <b title={`$${total}`}>{usd(total)}</b> <small>on {count(data.venues.length)} venues</small>
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Volume by venue">
            <table class="venues">
              <thead>
                <tr>
                  <th scope="col">Venue</th>
                  <th scope="col" class="number">Volume</th>
                  <th scope="col" class="number">Share</th>
                  <th scope="col" class="number">Through aggregators</th>
                  <th scope="col" class="number">Trades</th>
                  <th scope="col" class="number">Without a price</th>
                </tr>
              </thead>
              <tbody>
                {data.venues.map((venue) => {
                  const share = total > 0 ? venue.volume_usd / total : 0;
                  return (
                    <tr key={venue.venue}>
                      <th scope="row">{venueName(venue.venue)}</th>
                      <td class="number">
                        <Usd value={venue.volume_usd} />
                      </td>
                      <td class="number">
                        <span class="share">
                          <progress max={largest} value={venue.volume_usd} aria-label={`Share of ${venueName(venue.venue)}`} />
                          <span>{(share * 100).toFixed(1)} %</span>
                        </span>
                      </td>
                      <td class="number">
                        <Usd value={venue.aggregated_usd} />
                      </td>
                      <td class="number">{count(venue.trades)}</td>
                      <td class="number">{count(venue.unpriced)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </>
  );
}
