# bootstrap/box/facts: Put facts.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/facts.py" {run.dir}/bin/facts.py   # sha256 ...

# bootstrap/box/probe: Put probe.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/probe.py" {run.dir}/bin/probe.py   # sha256 ...

# bootstrap/box/start: Put start.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/start.py" {run.dir}/bin/start.py   # sha256 ...

# bootstrap/box/sweep: Put sweep.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/sweep.py" {run.dir}/bin/sweep.py   # sha256 ...

# bootstrap/box/verify: Put verify.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/verify.py" {run.dir}/bin/verify.py   # sha256 ...

# bootstrap/box/engine_env: Put engine_env.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/engine_env.py" {run.dir}/bin/engine_env.py   # sha256 ...

# bootstrap/box/synth_model: Put synth_model.py on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/box/synth_model.py" {run.dir}/bin/synth_model.py   # sha256 ...

# bootstrap/box/lock-engine-cpu: Put the lock engine-cpu.txt on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/locks/engine-cpu.txt" {run.dir}/locks/engine-cpu.txt   # sha256 ...

# bootstrap/box/lock-torch-cpu: Put the lock torch-cpu.txt on the box
install -D "$(python3 -c 'import dsctl, pathlib; print(pathlib.Path(dsctl.__file__).parent)')/locks/torch-cpu.txt" {run.dir}/locks/torch-cpu.txt   # sha256 ...

# bootstrap/box/engine-env: Install the engine environment
#   already done when: test -f {engine.dir}/.ready
{box.python} {run.dir}/bin/engine_env.py --dir {engine.dir} --lock {run.dir}/locks/engine-cpu.txt --torch-lock {run.dir}/locks/torch-cpu.txt --python 3.11

# weights/box/model: Make the synthetic model
#   already done when: test -f {model.dir}/.ready
{engine.dir}/bin/python {run.dir}/bin/synth_model.py --dir {model.dir} --spec '{"architecture":"qwen2","seed":0,"layers":4,"hidden":256,"heads":8,"kv_heads":2,"vocab":1024,"max_positions":16384,"initializer_range":0.12}'

# launch/box/supervisor-config: Write the supervisor's configuration
mkdir -p {run.dir} && cat > {run.dir}/supervisord.conf <<'DSCTL_END'
; Written by dsctl for run {run.id}. `supervisorctl -c THIS status` shows what runs.
[unix_http_server]
file={run.socket}
chmod=0700

[supervisord]
logfile={run.dir}/logs/supervisord.log
pidfile={run.dir}/supervisord.pid
childlogdir={run.dir}/logs
directory={run.dir}
environment=DSCTL_RUN="{run.id}",TMPDIR="{run.tmp}"
nodaemon=false
minfds=1024

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{run.socket}

[program:lmcache]
command='{box.python}' '{run.dir}/bin/start.py' lmcache '{engine.dir}/bin/lmcache' server --host 127.0.0.1 --port '6000' --http-host 127.0.0.1 --http-port '6080' --chunk-size 256 --l1-size-gb 2 --eviction-policy LRU --supported-transfer-mode auto
environment=LMCACHE_DISABLE_BANNER="1",LMCACHE_TRACK_USAGE="false",OMP_NUM_THREADS="1"
directory={run.dir}
autostart=false
autorestart=true
startsecs=1
startretries=3
stopwaitsecs=15
stopasgroup=true
killasgroup=true
stdout_logfile={run.dir}/logs/lmcache.log
stdout_logfile_maxbytes=64MB
stdout_logfile_backups=1
redirect_stderr=true

[program:prefill0]
command='{box.python}' '{run.dir}/bin/start.py' prefill0 '{engine.dir}/bin/python' -m vllm.entrypoints.openai.api_server --model '{model.dir}' --served-model-name lab --host 127.0.0.1 --port '8100' --max-model-len 8192 --enable-prefix-caching --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_connector_extra_config":{"lmcache.mp.host":"tcp://127.0.0.1","lmcache.mp.port":6000,"lmcache.mp.mq_timeout":5,"lmcache.mp.heartbeat_interval":2}}' --enforce-eager --distributed-executor-backend uni --max-num-seqs 16 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 128M
environment=DO_NOT_TRACK="1",HF_HUB_OFFLINE="1",LMCACHE_DISABLE_BANNER="1",LMCACHE_TRACK_USAGE="false",OMP_NUM_THREADS="1",PYTHONHASHSEED="0",SPT_NOENV="1",VLLM_CPU_OMP_THREADS_BIND="nobind",VLLM_ENABLE_V1_MULTIPROCESSING="0",VLLM_NO_USAGE_STATS="1"
directory={run.dir}
autostart=false
autorestart=true
startsecs=1
startretries=3
stopwaitsecs=15
stopasgroup=true
killasgroup=true
stdout_logfile={run.dir}/logs/prefill0.log
stdout_logfile_maxbytes=64MB
stdout_logfile_backups=1
redirect_stderr=true

[program:decode0]
command='{box.python}' '{run.dir}/bin/start.py' decode0 '{engine.dir}/bin/python' -m vllm.entrypoints.openai.api_server --model '{model.dir}' --served-model-name lab --host 127.0.0.1 --port '8101' --max-model-len 8192 --enable-prefix-caching --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_connector_extra_config":{"lmcache.mp.host":"tcp://127.0.0.1","lmcache.mp.port":6000,"lmcache.mp.mq_timeout":5,"lmcache.mp.heartbeat_interval":2}}' --enforce-eager --distributed-executor-backend uni --max-num-seqs 16 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 128M
environment=DO_NOT_TRACK="1",HF_HUB_OFFLINE="1",LMCACHE_DISABLE_BANNER="1",LMCACHE_TRACK_USAGE="false",OMP_NUM_THREADS="1",PYTHONHASHSEED="0",SPT_NOENV="1",VLLM_CPU_OMP_THREADS_BIND="nobind",VLLM_ENABLE_V1_MULTIPROCESSING="0",VLLM_NO_USAGE_STATS="1"
directory={run.dir}
autostart=false
autorestart=true
startsecs=1
startretries=3
stopwaitsecs=15
stopasgroup=true
killasgroup=true
stdout_logfile={run.dir}/logs/decode0.log
stdout_logfile_maxbytes=64MB
stdout_logfile_backups=1
redirect_stderr=true

[program:decode1]
command='{box.python}' '{run.dir}/bin/start.py' decode1 '{engine.dir}/bin/python' -m vllm.entrypoints.openai.api_server --model '{model.dir}' --served-model-name lab --host 127.0.0.1 --port '8102' --max-model-len 8192 --enable-prefix-caching --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_connector_extra_config":{"lmcache.mp.host":"tcp://127.0.0.1","lmcache.mp.port":6000,"lmcache.mp.mq_timeout":5,"lmcache.mp.heartbeat_interval":2}}' --enforce-eager --distributed-executor-backend uni --max-num-seqs 16 --max-num-batched-tokens 2048 --kv-cache-memory-bytes 128M
environment=DO_NOT_TRACK="1",HF_HUB_OFFLINE="1",LMCACHE_DISABLE_BANNER="1",LMCACHE_TRACK_USAGE="false",OMP_NUM_THREADS="1",PYTHONHASHSEED="0",SPT_NOENV="1",VLLM_CPU_OMP_THREADS_BIND="nobind",VLLM_ENABLE_V1_MULTIPROCESSING="0",VLLM_NO_USAGE_STATS="1"
directory={run.dir}
autostart=false
autorestart=true
startsecs=1
startretries=3
stopwaitsecs=15
stopasgroup=true
killasgroup=true
stdout_logfile={run.dir}/logs/decode1.log
stdout_logfile_maxbytes=64MB
stdout_logfile_backups=1
redirect_stderr=true

[program:gateway]
command='{box.python}' '{run.dir}/bin/start.py' gateway '{dsctl.python}' -m dsctl.gateway '{run.dir}/gateway.json'
directory={run.dir}
autostart=false
autorestart=true
startsecs=1
startretries=3
stopwaitsecs=20
stopasgroup=true
killasgroup=true
stdout_logfile={run.dir}/logs/gateway.log
stdout_logfile_maxbytes=64MB
stdout_logfile_backups=1
redirect_stderr=true
DSCTL_END

# launch/box/gateway-config: Write the front door's configuration
mkdir -p {run.dir} && cat > {run.dir}/gateway.json <<'DSCTL_END'
{
  "schema": "dsctl.gateway/1",
  "host": "127.0.0.1",
  "port": 8000,
  "model": "lab",
  "mode": "pd",
  "policy": "least-loaded",
  "mover": "lmcache_mp",
  "prefill": [
    {
      "name": "prefill0",
      "url": "http://127.0.0.1:8100"
    }
  ],
  "decode": [
    {
      "name": "decode0",
      "url": "http://127.0.0.1:8101"
    },
    {
      "name": "decode1",
      "url": "http://127.0.0.1:8102"
    }
  ],
  "prefill_timeout_s": 30,
  "first_token_timeout_s": 60,
  "idle_timeout_s": 60
}
DSCTL_END

# launch/box/supervisord: Start supervisord
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf pid
{dsctl.python} -m supervisor.supervisord -c {run.dir}/supervisord.conf

# launch/lmcache/start: Start lmcache
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf status lmcache
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf start lmcache

# launch/lmcache/ready: Wait until lmcache answers
{box.python} {run.dir}/bin/probe.py http://127.0.0.1:6080/healthcheck --timeout 300 --socket {run.socket} --program lmcache

# launch/prefill0/start: Start prefill0
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf status prefill0
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf start prefill0

# launch/prefill0/ready: Wait until prefill0 answers
{box.python} {run.dir}/bin/probe.py http://127.0.0.1:8100/health --timeout 300 --socket {run.socket} --program prefill0

# launch/decode0/start: Start decode0
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf status decode0
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf start decode0

# launch/decode0/ready: Wait until decode0 answers
{box.python} {run.dir}/bin/probe.py http://127.0.0.1:8101/health --timeout 300 --socket {run.socket} --program decode0

# launch/decode1/start: Start decode1
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf status decode1
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf start decode1

# launch/decode1/ready: Wait until decode1 answers
{box.python} {run.dir}/bin/probe.py http://127.0.0.1:8102/health --timeout 300 --socket {run.socket} --program decode1

# launch/gateway/start: Start gateway
#   already done when: {dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf status gateway
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf start gateway

# launch/gateway/ready: Wait until gateway answers
{box.python} {run.dir}/bin/probe.py http://127.0.0.1:8000/health --timeout 30 --socket {run.socket} --program gateway

# ready/gateway/chat: Chat once through the front door
#   must hold: model == 'lab'
#   must hold: completion_tokens >= 1
{box.python} {run.dir}/bin/verify.py chat --gateway http://127.0.0.1:8000 --model lab

# ready/decode/sharing: Prove that decoders retrieve what the prefiller stored
#   must hold: decoders_used == 2
#   must hold: external_ratio >= 0.9
{box.python} {run.dir}/bin/verify.py sharing --gateway http://127.0.0.1:8000 --model lab --decode http://127.0.0.1:8101 --decode http://127.0.0.1:8102 --chunk 256 --max-len 8192

# ready/box/held: Note the shared memory the run holds
{box.python} {run.dir}/bin/sweep.py --run-id {run.id} --run-dir {run.dir} --shm {run.shm} --ports 6000,6080,8100,8101,8102,8000 --note

# teardown/gateway/stop: Stop gateway
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf stop gateway

# teardown/engines/stop: Stop prefill0, decode0, decode1
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf stop prefill0 decode0 decode1

# teardown/lmcache/stop: Stop lmcache
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf stop lmcache

# teardown/box/supervisord: Stop supervisord
{dsctl.python} -m supervisor.supervisorctl -c {run.dir}/supervisord.conf shutdown
