{{- define "mintlake.fullname" -}}
{{- if contains "mintlake" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-mintlake" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "mintlake.selector" -}}
app.kubernetes.io/name: mintlake
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mintlake.labels" -}}
{{ include "mintlake.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "mintlake.image" -}}
{{- $image := .Values.image.repository }}
{{- with .Values.image.registry }}{{ $image = printf "%s/%s" . $image }}{{ end }}
{{- if .Values.image.digest }}{{ $image }}@{{ .Values.image.digest }}{{ else }}{{ $image }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "mintlake.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "mintlake.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "mintlake.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "mintlake.checks" -}}
{{- if and (not .Values.kafka.brokers) (not .Values.kafka.bundled.enabled) }}{{ fail "kafka: name kafka.brokers, or set kafka.bundled.enabled for a trial" }}{{ end }}
{{- if and .Values.kafka.brokers .Values.kafka.bundled.enabled }}{{ fail "kafka: kafka.brokers and kafka.bundled.enabled exclude each other" }}{{ end }}
{{- if and (not .Values.clickhouse.existingSecret) (not .Values.clickhouse.bundled.enabled) }}{{ fail "clickhouse: name clickhouse.existingSecret (a Secret with the DSN), or set clickhouse.bundled.enabled for a trial" }}{{ end }}
{{- if and .Values.clickhouse.existingSecret .Values.clickhouse.bundled.enabled }}{{ fail "clickhouse: clickhouse.existingSecret and clickhouse.bundled.enabled exclude each other" }}{{ end }}
{{- $sasl := .Values.kafka.sasl }}
{{- if eq $sasl.mechanism "aws-msk-iam" }}
{{- if not .Values.kafka.tls.enabled }}{{ fail "kafka.sasl.mechanism: aws-msk-iam goes over TLS only: set kafka.tls.enabled" }}{{ end }}
{{- if or $sasl.username $sasl.existingSecret }}{{ fail "kafka.sasl: aws-msk-iam takes the pods' AWS role: take username and existingSecret away" }}{{ end }}
{{- else if and $sasl.mechanism (not $sasl.existingSecret) }}{{ fail "kafka.sasl: name kafka.sasl.existingSecret, the Secret with the password" }}{{ end }}
{{- $partitions := dig "kafka" "partitions" .Values.kafka.partitions .Values.config | int }}
{{- range $name := list "projector" "enrich" }}
{{- $v := include "mintlake.roomValues" (dict "root" $ "name" $name) | fromYaml }}
{{- $most := ternary (list "autoscaling.maxReplicas" (int $v.autoscaling.maxReplicas)) (list "replicas" (int $v.replicas)) $v.autoscaling.enabled }}
{{- if and $v.enabled (gt (last $most) $partitions) }}{{ fail (printf "rooms.%s.%s: %d, of which %d would have nothing to read: kafka.partitions is %d" $name (first $most) (last $most) (sub (last $most) $partitions) $partitions) }}{{ end }}
{{- end }}
{{- $tls := .Values.clickhouse.tls }}
{{- if and .Values.clickhouse.bundled.enabled (or $tls.existingSecret $tls.serverName) }}{{ fail "clickhouse.tls: the bundled server speaks plain text" }}{{ end }}
{{- if and .Values.rateLimits.tls.existingSecret (not .Values.rateLimits.existingSecret) }}{{ fail "rateLimits.tls: name rateLimits.existingSecret, the Secret with the address" }}{{ end }}
{{- range $name, $tls := dict "kafka" .Values.kafka.tls "clickhouse" .Values.clickhouse.tls }}
{{- if and (or $tls.certKey $tls.keyKey) (not $tls.existingSecret) }}{{ fail (printf "%s.tls: name %s.tls.existingSecret, the Secret with the certificate" $name $name) }}{{ end }}
{{- if ne (empty $tls.certKey) (empty $tls.keyKey) }}{{ fail (printf "%s.tls: certKey and keyKey go together" $name) }}{{ end }}
{{- end }}
{{- if hasPrefix "demo:" .Values.source.url }}{{ fail "source.url: the demo chain runs in `mintlake up` only; name a provider, or none" }}{{ end }}
{{- if and (gt (int .Values.rooms.ingest.replicas) 1) (not .Values.rooms.ingest.standby) }}{{ fail "rooms.ingest.replicas: more than one needs rooms.ingest.standby" }}{{ end }}
{{- $issues := false }}
{{- range (include "mintlake.roomValues" (dict "root" $ "name" "gateway") | fromYaml).extraEnv }}{{ if hasPrefix "MINTLAKE_ADMIN_TOKEN" .name }}{{ $issues = true }}{{ end }}{{ end }}
{{- range $name, $product := dict "gateway" "rpc" "swap" "swap" }}
{{- $v := include "mintlake.roomValues" (dict "root" $ "name" $name) | fromYaml }}
{{- $given := or $issues (index $.Values.keys $product).existingSecret (dig $product "keys" "" $.Values.config) }}
{{- range $v.extraEnv }}{{ if hasPrefix (printf "MINTLAKE_%s_KEYS" (upper $product)) .name }}{{ $given = true }}{{ end }}{{ end }}
{{- if and $v.enabled (not $given) }}{{ fail (printf "rooms.%s does not start without keys: name keys.%s.existingSecret, a Secret with what `mintlake keys new %s NAME` prints, or set rooms.%s.enabled to false" $name $product $product $name) }}{{ end }}
{{- end }}
{{- range $name := list "logos" "volume" }}
{{- if gt (int (index $.Values.rooms $name).replicas) 1 }}{{ fail (printf "rooms.%s.replicas: only one may run" $name) }}{{ end }}
{{- end }}
{{- end }}

{{/* The settings that every room has: a file, so that `mintlake config` can check it. */}}
{{- define "mintlake.config" -}}
{{- $tls := .Values.kafka.tls }}{{ $sasl := .Values.kafka.sasl }}
{{- $kafka := dict "brokers" .Values.kafka.brokers "replicas" .Values.kafka.replicas "partitions" .Values.kafka.partitions }}
{{- if .Values.kafka.bundled.enabled }}{{ $_ := set (set $kafka "brokers" (list (printf "%s-kafka:9092" (include "mintlake.fullname" .)))) "replicas" 1 }}{{ end }}
{{- if $tls.enabled }}
{{- $files := dict "enabled" true }}
{{- if and $tls.existingSecret $tls.caKey }}{{ $_ := set $files "ca_file" "/etc/mintlake/secrets/kafka-tls/ca.crt" }}{{ end }}
{{- if $tls.certKey }}{{ $_ := set $files "cert_file" "/etc/mintlake/secrets/kafka-tls/tls.crt" }}{{ $_ := set $files "key_file" "/etc/mintlake/secrets/kafka-tls/tls.key" }}{{ end }}
{{- with $tls.serverName }}{{ $_ := set $files "server_name" . }}{{ end }}
{{- $_ := set $kafka "tls" $files }}
{{- end }}
{{- if eq $sasl.mechanism "aws-msk-iam" }}{{ $_ := set $kafka "sasl" (dict "mechanism" $sasl.mechanism) }}
{{- else if $sasl.mechanism }}{{ $_ := set $kafka "sasl" (dict "mechanism" $sasl.mechanism "username" $sasl.username "password_file" "/etc/mintlake/secrets/kafka-sasl/password") }}{{ end }}
{{- $base := dict
  "data_dir" "/var/lib/mintlake"
  "kafka" $kafka
  "api" (dict "addr" "0.0.0.0:8080")
  "swap" (dict "addr" "0.0.0.0:8081")
  "rpc" (dict "addr" "0.0.0.0:8899" "ws_addr" "0.0.0.0:8900" "upstream" .Values.rpc.upstream)
  "stream" (dict "addr" "0.0.0.0:10000")
  "metrics" (dict "addr" "0.0.0.0:9600")
  "log" (dict "level" "info" "format" "json") }}
{{- mergeOverwrite $base (deepCopy .Values.config) | toYaml }}
{{- end }}

{{/* Keys of a Secret with authorities and a certificate, and the files that they become. */}}
{{- define "mintlake.tlsItems" -}}
{{- $items := list }}
{{- with .caKey }}{{ $items = append $items (dict "key" . "path" "ca.crt") }}{{ end }}
{{- with .certKey }}{{ $items = append $items (dict "key" . "path" "tls.crt") }}{{ end }}
{{- with .keyKey }}{{ $items = append $items (dict "key" . "path" "tls.key") }}{{ end }}
{{- $items | toYaml }}
{{- end }}

{{/* Secrets that a room gets as files: name of the volume, Secret, keys and files, variables that name the files. */}}
{{- define "mintlake.secretFiles" -}}
{{- $v := .root.Values }}{{ $needs := .needs }}
{{- $list := list }}
{{- if has "clickhouse" $needs }}
{{- $secret := $v.clickhouse.existingSecret | default (printf "%s-clickhouse" (include "mintlake.fullname" .root)) }}
{{- $key := ternary "dsn" $v.clickhouse.dsnKey $v.clickhouse.bundled.enabled }}
{{- $list = append $list (dict "volume" "clickhouse" "secret" $secret "items" (list (dict "key" $key "path" "dsn")) "env" (dict "MINTLAKE_CLICKHOUSE_DSN_FILE" "dsn")) }}
{{- if $v.clickhouse.tls.existingSecret }}
{{- $env := dict }}
{{- if $v.clickhouse.tls.caKey }}{{ $_ := set $env "MINTLAKE_CLICKHOUSE_TLS_CA_FILE" "ca.crt" }}{{ end }}
{{- if $v.clickhouse.tls.certKey }}{{ $_ := set $env "MINTLAKE_CLICKHOUSE_TLS_CERT_FILE" "tls.crt" }}{{ $_ := set $env "MINTLAKE_CLICKHOUSE_TLS_KEY_FILE" "tls.key" }}{{ end }}
{{- $list = append $list (dict "volume" "clickhouse-tls" "secret" $v.clickhouse.tls.existingSecret "items" (include "mintlake.tlsItems" $v.clickhouse.tls | fromYamlArray) "env" $env) }}
{{- end }}
{{- end }}
{{- if and $v.kafka.tls.enabled $v.kafka.tls.existingSecret }}
{{- $list = append $list (dict "volume" "kafka-tls" "secret" $v.kafka.tls.existingSecret "items" (include "mintlake.tlsItems" $v.kafka.tls | fromYamlArray)) }}
{{- end }}
{{- if and $v.kafka.sasl.mechanism (ne $v.kafka.sasl.mechanism "aws-msk-iam") }}
{{- $list = append $list (dict "volume" "kafka-sasl" "secret" $v.kafka.sasl.existingSecret "items" (list (dict "key" $v.kafka.sasl.passwordKey "path" "password"))) }}
{{- end }}
{{- if and (has "geyser" $needs) $v.source.existingSecret }}
{{- $list = append $list (dict "volume" "geyser" "secret" $v.source.existingSecret "items" (list (dict "key" $v.source.tokenKey "path" "token")) "env" (dict "MINTLAKE_GEYSER_TOKEN_FILE" "token")) }}
{{- end }}
{{- if and (has "limits" $needs) $v.rateLimits.existingSecret }}
{{- $list = append $list (dict "volume" "rate-limits" "secret" $v.rateLimits.existingSecret "items" (list (dict "key" $v.rateLimits.urlKey "path" "url")) "env" (dict "MINTLAKE_RATE_LIMITS_SHARED_URL_FILE" "url")) }}
{{- with $v.rateLimits.tls.existingSecret }}
{{- $list = append $list (dict "volume" "rate-limits-tls" "secret" . "items" (list (dict "key" $v.rateLimits.tls.caKey "path" "ca.crt")) "env" (dict "MINTLAKE_RATE_LIMITS_SHARED_CA_FILE" "ca.crt")) }}
{{- end }}
{{- end }}
{{- $list | toYaml }}
{{- end }}

{{/* Variables of a room. Lists that are secret come from Secrets as variables, for they have no file. */}}
{{- define "mintlake.env" -}}
{{- $v := .root.Values }}
- {name: MINTLAKE_CONFIG, value: /etc/mintlake/mintlake.yaml}
{{- range $secret := .files }}
{{- range $name, $file := $secret.env }}
- {name: {{ $name }}, value: /etc/mintlake/secrets/{{ $secret.volume }}/{{ $file }}}
{{- end }}
{{- end }}
{{- if and (has "clickhouse" .needs) $v.clickhouse.tls.serverName }}
- {name: MINTLAKE_CLICKHOUSE_TLS_SERVER_NAME, value: {{ $v.clickhouse.tls.serverName | quote }}}
{{- end }}
{{- if and (has "clickhouse" .needs) $v.clickhouse.cluster }}
- {name: MINTLAKE_CLICKHOUSE_CLUSTER, value: {{ $v.clickhouse.cluster | quote }}}
{{- end }}
{{- if and (has "rpc" .needs) $v.rpc.existingSecret }}
- name: MINTLAKE_RPC_UPSTREAM
  valueFrom: {secretKeyRef: {name: {{ $v.rpc.existingSecret }}, key: {{ $v.rpc.upstreamKey }}}}
{{- end }}
{{- range $product := list "rpc" "swap" }}
{{- $key := index $v.keys $product }}
{{- if and (has (printf "keys-%s" $product) $.needs) $key.existingSecret }}
- name: MINTLAKE_{{ upper $product }}_KEYS
  valueFrom: {secretKeyRef: {name: {{ $key.existingSecret }}, key: {{ $key.key }}}}
{{- end }}
{{- end }}
{{- end }}

{{/* Volumes and mounts that every pod of Mintlake has. */}}
{{- define "mintlake.volumes" -}}
- name: config
  configMap: {name: {{ .configMap }}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- range .files }}
- name: {{ .volume }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
    items: {{ .items | toJson }}
{{- end }}
{{- end }}

{{- define "mintlake.mounts" -}}
- {name: config, mountPath: /etc/mintlake/mintlake.yaml, subPath: mintlake.yaml, readOnly: true}
- {name: tmp, mountPath: /tmp}
- {name: data, mountPath: /var/lib/mintlake}
{{- range .files }}
- {name: {{ .volume }}, mountPath: /etc/mintlake/secrets/{{ .volume }}, readOnly: true}
{{- end }}
{{- end }}
