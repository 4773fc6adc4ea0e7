"""The S3 server of the tests, behind a door that looks at signatures: each request has to be signed by ID, and what Amazon's own
library makes of it is the judge. `x-unsigned` lets the tests themselves in."""

import hashlib
import io
import sys
from urllib.parse import parse_qsl

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

ID, SECRET, REGION = "id", "secret", "us-east-1"


def why_not(environ: dict, body: bytes) -> str | None:
    given = environ.get("HTTP_AUTHORIZATION", "")
    if not given.startswith("AWS4-HMAC-SHA256 "):
        return "AccessDenied"
    fields = dict(field.strip().split("=", 1) for field in given.partition(" ")[2].split(","))
    if fields["Credential"].split("/")[0] != ID:
        return "InvalidAccessKeyId"
    names = fields["SignedHeaders"].split(";")
    path, _, query = environ["RAW_URI"].partition("?")
    # Each field is signed by what it says, and not by how it happens to be escaped.
    params = parse_qsl(query, keep_blank_values=True)
    request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{path}", params=params)
    for name in names:
        request.headers[name] = environ.get(name.upper().replace("-", "_"), environ.get("HTTP_" + name.upper().replace("-", "_"), ""))
    request.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
    judge = S3SigV4Auth(Credentials(ID, SECRET), "s3", REGION)
    if judge.signature(judge.string_to_sign(request, judge.canonical_request(request)), request) != fields["Signature"]:
        return "SignatureDoesNotMatch"
    said = environ.get("HTTP_X_AMZ_CONTENT_SHA256")
    is_whole = said == "UNSIGNED-PAYLOAD" or said == hashlib.sha256(body).hexdigest()
    # Whoever could change these could have something else done.
    covered = {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names)
    return None if is_whole and covered else "XAmzContentSHA256Mismatch"


class Door:
    def __init__(self, house):
        self.house = house

    def __call__(self, environ, start):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        if "HTTP_X_UNSIGNED" not in environ and (why := why_not(environ, body)):
            start("403 Forbidden", [("content-type", "application/xml")])
            return [f"<Error><Code>{why}</Code><Message>The signature is wrong.</Message></Error>".encode()]
        return self.house(environ, start)


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), Door(DomainDispatcherApplication(create_backend_app)), threaded=True)
