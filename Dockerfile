# The command alone: `docker build -t tickwire .`, then `docker run --rm tickwire --help`.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends cmake g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# Named in the metric build_info: `docker build --build-arg TICKWIRE_COMMIT=$(git rev-parse HEAD) ...`.
ARG TICKWIRE_COMMIT=unknown
RUN cargo build --release --locked --features columns,top && strip target/release/tickwire
RUN apt-get update && apt-get install --yes --no-install-recommends python3 \
    && .ci/third-party-licences THIRD-PARTY-LICENCES -p tickwire --features columns,top

FROM debian:bookworm-slim
# The licences of Tickwire and of all crates in the binary.
COPY --from=build /source/LICENSE-APACHE /source/LICENSE-MIT /source/NOTICE /source/THIRD-PARTY-LICENCES /usr/share/doc/tickwire/
COPY --from=build /source/target/release/tickwire /usr/local/bin/tickwire
USER nobody
ENTRYPOINT ["tickwire"]
