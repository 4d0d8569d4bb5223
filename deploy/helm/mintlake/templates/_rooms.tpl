{{/* What each room is: command, ports, where its probes ask, the secrets it needs, and how it is replaced. */}}
{{- define "mintlake.rooms" -}}
ingest:
  command: ingest
  needs: [geyser, rpc]
projector:
  command: projector
  needs: [clickhouse]
enrich:
  command: enrich
  needs: [rpc]
  env: {MINTLAKE_LOGOS_ENABLED: "false"}
logos:
  command: enrich
  needs: [rpc]
  single: true
volume:
  command: volume
  needs: [clickhouse]
  single: true
api:
  command: api
  needs: [clickhouse, limits]
  ports: {http: 8080}
  probe: http
gateway:
  command: gateway
  needs: [rpc, keys-rpc]
  ports: {rpc: 8899, rpc-ws: 8900, stream: 10000}
  probe: rpc
swap:
  command: swap
  needs: [rpc, keys-swap]
  ports: {http: 8081}
  probe: http
{{- end }}

{{/* A room's values over the defaults. */}}
{{- define "mintlake.roomValues" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.rooms .name)) | toYaml }}
{{- end }}
